import { describe, expect, test } from "bun:test"
import { load, problems } from "./load-config.fixture.ts"

describe("providers", () => {
  test("an entry's type is its own name by default", () => {
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

  test("an entry without a credential uses the well-known variable, but not at a custom address", () => {
    const environment = { OPENAI_API_KEY: "well-known" }
    const yaml = "providers: { openai: , second: { type: openai }, third: { type: openai, base_url: http://other } }"
    expect(load(yaml, { environment }).providers.map(({ id, apiKey }) => [id, apiKey?.reveal()])).toEqual([
      ["openai", "well-known"],
      ["second", "well-known"],
      ["third", undefined],
    ])
  })

  test("an unknown type is reported with the nearest known one, or with all", () => {
    expect(problems("providers:\n  opena: { api_key: k }\n  x: { type: antropic }\n  zzz:\n")).toEqual([
      'trivium.yaml:2:3 providers.opena: unknown provider type "opena"; did you mean "openai"?',
      'trivium.yaml:3:14 providers.x.type: unknown provider type "antropic"; did you mean "anthropic"?',
      'trivium.yaml:4:3 providers.zzz: unknown provider type "zzz"; known: openai, anthropic, simulator, openai-compatible, anthropic-compatible, gemini-compatible',
    ])
  })

  test("openai-compatible needs a base_url, and its absence is reported with the entry's other problems", () => {
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
    ["https://u:hunter2@x", "the address may not contain a user or password"],
    ["https://x/?a=1", "the address may not contain a query"],
    ["https://x/?", "the address may not contain a query"],
    ["https://x/#a", "the address may not contain a fragment"],
  ])("the base_url %p is refused", (written, message) => {
    expect(problems(`providers: { openai: { base_url: "${written}" } }`)).toEqual([
      `trivium.yaml:1:34 providers.openai.base_url: ${message}`,
    ])
  })

  test("a provider's name has only plain characters", () => {
    expect(problems("providers: { My vLLM: { type: openai } }")[0]).toStartWith(
      'trivium.yaml:1:14 providers["My vLLM"]: the provider name "My vLLM" may contain only',
    )
  })

  test.each(["", "   ", "two words", "schlüssel", "line\\nbreak"])("the credential %p is refused", (key) => {
    expect(problems(`providers: { openai: { api_key: "${key}" } }`)).toHaveLength(1)
    expect(problems(undefined, { environment: { OPENAI_API_KEY: "two words" } })[0]).toStartWith("OPENAI_API_KEY: ")
  })
})

test("a wrong type in the server's members is reported with the expected and the found type", () => {
  expect(problems("server: [1]")[0]).toEndWith("server: expected a mapping, found a list")
  expect(problems("server: { port: 70000 }")[0]).toEndWith("expected a whole number from 0 to 65535, found 70000")
})

test("tenants share connections to providers by default", () => {
  expect(load("upstream: {}").upstream).toEqual({ isolation: "shared" })
  expect(load("upstream: { isolation: strict }").upstream).toEqual({ isolation: "strict" })
  expect(problems("upstream: { isolation: strickt }\n")).toEqual([
    'trivium.yaml:1:24 upstream.isolation: unknown value "strickt"; did you mean "strict"?',
  ])
  expect(problems("upstream: { isolation: none }")[0]).toEndWith('unknown value "none"; known: shared, strict')
  expect(problems("upstream: { isolation: true }")[0]).toEndWith(
    "expected a string, found true or false (put it in quotes)",
  )
})

describe("unknown members", () => {
  test("an unknown member is reported with the nearest known one, or with all", () => {
    expect(problems("sever: {}\nserver: { prot: 1, colour: red }\nproviders: { openai: { apiKey: x } }\n")).toEqual([
      'trivium.yaml:1:1 sever: unknown member "sever"; did you mean "server"?',
      'trivium.yaml:2:11 server.prot: unknown member "prot"; did you mean "port"?',
      'trivium.yaml:2:20 server.colour: unknown member "colour"; known: host, port, cors, trusted_proxies, max_in_flight, idle_timeout, max_connections',
      'trivium.yaml:3:24 providers.openai.apiKey: unknown member "apiKey"; did you mean "api_key"?',
    ])
  })

  test("an unknown member may be named like a member of the object prototype", () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      expect(problems(`${name}: { polluted: 1 }`)[0]).toContain(`unknown member "${name}"`)
      expect(problems(`providers: { ${name}: {} }`).length).toBeGreaterThan(0)
    }
    expect(problems(`server: { host: "\${constructor}" }`)[0]).toContain("constructor is not set")
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})
