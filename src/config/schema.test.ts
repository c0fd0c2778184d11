import { describe, expect, test } from "bun:test"
import { acme, load, problems } from "./load.fixture.ts"

describe("providers", () => {
  test("an entry's type is its own name unless it says another", () => {
    const yaml = "providers:\n  openai: { api_key: one }\n  mine: { type: openai, api_key: two }\n"
    const { providers } = load(yaml)
    expect(providers.map(({ id, type, apiKey }) => [id, type, apiKey?.reveal()])).toEqual([
      ["openai", "openai", "one"],
      ["mine", "openai", "two"],
    ])
  })

  test("a well-known variable adds a provider that the file does not name", () => {
    const environment = { OPENAI_API_KEY: "from-environment", ANTHROPIC_API_KEY: "from-environment-too\n" }
    const { providers } = load("providers: { openai: { api_key: from-file } }", { environment })
    expect(providers.map(({ id, type, apiKey }) => [id, type, apiKey?.reveal()])).toEqual([
      ["openai", "openai", "from-file"],
      ["anthropic", "anthropic", "from-environment-too"],
    ])
  })

  test("an entry without credential takes the well-known one, but not to an address of its own", () => {
    const environment = { OPENAI_API_KEY: "well-known" }
    const yaml = "providers: { openai: , second: { type: openai }, third: { type: openai, base_url: http://other } }"
    expect(load(yaml, { environment }).providers.map(({ id, apiKey }) => [id, apiKey?.reveal()])).toEqual([
      ["openai", "well-known"],
      ["second", "well-known"],
      ["third", undefined],
    ])
  })

  test("an unknown type names the nearest, or all when nothing is near", () => {
    expect(problems("providers:\n  opena: { api_key: k }\n  x: { type: antropic }\n  zzz:\n")).toEqual([
      'trivium.yaml:2:3 providers.opena: unknown provider type "opena"; did you mean "openai"?',
      'trivium.yaml:3:14 providers.x.type: unknown provider type "antropic"; did you mean "anthropic"?',
      'trivium.yaml:4:3 providers.zzz: unknown provider type "zzz"; known: openai, anthropic, simulator, openai-compatible',
    ])
  })

  test("openai-compatible needs a base_url, which is said beside the entry's other problems", () => {
    expect(problems("providers:\n  vllm: { type: openai-compatible, api_key: [] }\n")).toEqual([
      'trivium.yaml:2:3 providers.vllm: the type "openai-compatible" needs a "base_url"',
      "trivium.yaml:2:45 providers.vllm.api_key: expected a string, found a list",
    ])
  })

  test.each([
    ["http://vllm:8000/v1", "http://vllm:8000/v1"],
    ["https://API.example.com/", "https://api.example.com"],
    ["https://example.com/a/b//", "https://example.com/a/b"],
    ["http://[::1]:80", "http://[::1]"],
  ])("the base_url %p is stored as %p", (written, stored) => {
    expect(load(`providers: { openai: { base_url: "${written}" } }`).providers[0]?.baseUrl).toBe(stored)
  })

  test.each([
    ["ftp://x", "expected an http:// or https:// address"],
    ["example.com/v1", "expected an http:// or https:// address"],
    ["http:example.com", "expected an http:// or https:// address"],
    ["http://", "expected an http:// or https:// address"],
    ["https://u:hunter2@x", "the address may not hold a user or password"],
    ["https://x/?a=1", "the address may not hold a query"],
    ["https://x/?", "the address may not hold a query"],
    ["https://x/#a", "the address may not hold a fragment"],
  ])("the base_url %p is refused", (written, message) => {
    expect(problems(`providers: { openai: { base_url: "${written}" } }`)).toEqual([
      `trivium.yaml:1:34 providers.openai.base_url: ${message}`,
    ])
  })

  test("a provider's name is plain", () => {
    expect(problems("providers: { My vLLM: { type: openai } }")[0]).toStartWith(
      'trivium.yaml:1:14 providers["My vLLM"]: the provider name "My vLLM" may hold only',
    )
  })

  test.each(["", "   ", "two words", "schlüssel", "line\\nbreak"])("the credential %p is refused", (key) => {
    expect(problems(`providers: { openai: { api_key: "${key}" } }`)).toHaveLength(1)
    expect(problems(undefined, { environment: { OPENAI_API_KEY: "two words" } })[0]).toStartWith("OPENAI_API_KEY: ")
  })
})

describe("models", () => {
  test("are read with all their members", () => {
    const yaml = `
models:
  - id: acme/chat-large
    aliases: [chat-large, "acme/large:latest"]
    kind: chat
    display_name: Acme Chat, large
    context_window: 131072
    max_output_tokens: 8192
    reasoning: true
    targets:
      - { provider: vllm, model: meta-llama/Llama-3.3-70B-Instruct, priority: 2, weight: 3 }
      - { provider: anthropic, model: claude }
providers:
  vllm: { type: openai-compatible, base_url: "http://vllm:8000/v1" }
`
    expect(load(yaml).models).toEqual([
      {
        id: "acme/chat-large",
        aliases: ["chat-large", "acme/large:latest"],
        kind: "chat",
        displayName: "Acme Chat, large",
        contextWindow: 131072,
        maxOutputTokens: 8192,
        reasoning: true,
        targets: [
          { provider: "vllm", model: "meta-llama/Llama-3.3-70B-Instruct", priority: 2, weight: 3 },
          { provider: "anthropic", model: "claude", priority: 1, weight: 1 },
        ],
      },
    ])
  })

  test("need an id and at least one target", () => {
    expect(problems("models:\n  - kind: chat\n  - { id: a/b, targets: [] }\n")).toEqual([
      'trivium.yaml:2:5 models[0]: the member "id" is missing',
      'trivium.yaml:2:5 models[0]: the member "targets" is missing',
      "trivium.yaml:3:25 models[1].targets: expected at least 1, found 0",
    ])
  })

  test.each(["a/b", "openai/gpt-4o", "meta/llama/3.3:70b@fp8", "x1._-/A", "a/b/c.d/..e"])("%p is an id", (id) => {
    expect(load(`models: [{ id: "${id}", targets: [{ provider: openai, model: m }] }]`).models[0]?.id).toBe(id)
  })

  test.each([
    "gpt-4o",
    "/b",
    "a/",
    "A/b",
    "a//b",
    "a/b//c",
    "a/b/",
    "a/../b",
    "a/b/.",
    "a/.b",
    "a/b c",
    "a/b?",
    "-a/b",
    "a/ü",
  ])("%p is no id", (id) => {
    expect(problems(`models: [{ id: "${id}", targets: [{ provider: openai, model: m }] }]`)).toEqual([
      `trivium.yaml:1:16 models[0].id: ${JSON.stringify(id)} is not a model id of the form "provider/model-name"`,
    ])
  })

  test("may share no name, neither as id nor as alias", () => {
    const target = "targets: [{ provider: openai, model: m }]"
    const yaml = `models:
  - { id: a/b, aliases: [b, c], ${target} }
  - { id: a/b, aliases: [d, d], ${target} }
  - { id: a/c, aliases: [a/b, c], ${target} }
`
    expect(problems(yaml)).toEqual([
      'trivium.yaml:3:11 models[1].id: "a/b" is taken by models[0].id',
      'trivium.yaml:3:29 models[1].aliases[1]: "d" is taken by models[1].aliases[0]',
      'trivium.yaml:4:26 models[2].aliases[0]: "a/b" is taken by models[0].id',
      'trivium.yaml:4:31 models[2].aliases[1]: "c" is taken by models[0].aliases[1]',
    ])
  })

  test("a target's provider is one configured or known", () => {
    const targets =
      "targets: [{ provider: opnai, model: m }, { provider: mine, model: m }, { provider: anthropic, model: m }]"
    expect(problems(`models: [{ id: a/b, ${targets} }]\nproviders: { mine: { type: openai } }`)).toEqual([
      'trivium.yaml:1:43 models[0].targets[0].provider: unknown provider "opnai"; did you mean "openai"?',
    ])
  })

  test("wrong types say what was expected and what was found", () => {
    expect(problems(acme("context_window: 128k"))).toEqual([
      "trivium.yaml:4:21 models[0].context_window: expected a whole number, at least 1, found a string",
    ])
    expect(problems(acme("max_output_tokens: 1.5"))[0]).toEndWith("expected a whole number, at least 1, found 1.5")
    expect(problems(acme("reasoning: maybe"))[0]).toEndWith("expected true or false, found a string")
    expect(problems(acme("display_name: 4.5"))[0]).toEndWith("expected a string, found a number (put it in quotes)")
    expect(problems(acme("kind: chatt"))[0]).toEndWith('unknown value "chatt"; did you mean "chat"?')
    expect(problems("server: [1]")[0]).toEndWith("server: expected a mapping, found a list")
    expect(problems("server: { port: 70000 }")[0]).toEndWith("expected a whole number from 0 to 65535, found 70000")
    expect(problems("models: {}")[0]).toEndWith("models: expected a list, found a mapping")
  })
})

describe("unknown members", () => {
  test("are errors that name the nearest known one, or all when nothing is near", () => {
    expect(problems("sever: {}\nserver: { prot: 1, colour: red }\nproviders: { openai: { apiKey: x } }\n")).toEqual([
      'trivium.yaml:1:1 sever: unknown member "sever"; did you mean "server"?',
      'trivium.yaml:2:11 server.prot: unknown member "prot"; did you mean "port"?',
      'trivium.yaml:2:20 server.colour: unknown member "colour"; known: host, port',
      'trivium.yaml:3:24 providers.openai.apiKey: unknown member "apiKey"; did you mean "api_key"?',
    ])
  })

  test("may have the names of an object's own machinery", () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      expect(problems(`${name}: { polluted: 1 }`)[0]).toContain(`unknown member "${name}"`)
      expect(problems(`providers: { ${name}: {} }`).length).toBeGreaterThan(0)
    }
    expect(problems(`server: { host: "\${constructor}" }`)[0]).toContain("constructor is not set")
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})
