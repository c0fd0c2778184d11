import { describe, expect, test } from "bun:test"
import { acme, load, problems } from "./load-config.fixture.ts"

describe("an entry under models", () => {
  test("an entry under models is read with all its members", () => {
    const yaml = `
models:
  - id: acme/chat-large
    aliases: [chat-large, "acme/large:latest"]
    kind: chat
    display_name: Acme Chat, large
    version: "2"
    context_window: 131072
    max_input_tokens: 100000
    max_output_tokens: 8192
    modalities: { input: [text, image], output: [text] }
    capabilities: [tools, json_schema]
    reasoning: true
    quality: 61
    pricing:
      { input: "0.50", output: "1.50", cache_read: "0.05", cache_write_1h: "1", audio_input: "4", per_image: "0.04",
        tiers: [{ above_input_tokens: 128000, input: "1" }, { above_input_tokens: 256000, input: "2" }] }
    targets:
      - provider: vllm
        model: meta-llama/Llama-3.3-70B-Instruct
        priority: 2
        weight: 3
        pricing: { input: "0.30", output: "0" }
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
        version: "2",
        contextWindow: 131072,
        maxInputTokens: 100000,
        maxOutputTokens: 8192,
        modalities: { input: ["text", "image"], output: ["text"] },
        capabilities: ["tools", "json_schema"],
        reasoning: true,
        quality: 61,
        pricing: {
          input: "0.50",
          output: "1.50",
          cacheRead: "0.05",
          cacheWrite1h: "1",
          audioInput: "4",
          perImage: "0.04",
          tiers: [
            { aboveInputTokens: 128000, input: "1" },
            { aboveInputTokens: 256000, input: "2" },
          ],
        },
        targets: [
          {
            provider: "vllm",
            model: "meta-llama/Llama-3.3-70B-Instruct",
            priority: 2,
            weight: 3,
            pricing: { input: "0.30", output: "0" },
          },
          { provider: "anthropic", model: "claude", priority: 1, weight: 1 },
        ],
      },
    ])
  })

  test("an entry under models changes only the named members of a bundled model", () => {
    const yaml = 'models: [{ id: openai/gpt-4o, pricing: { input: "2", output: "8" } }]'
    expect(load(yaml).models).toEqual([{ id: "openai/gpt-4o", pricing: { input: "2", output: "8" } }])
  })

  test("an entry under models for a new model needs targets; a typing error in the id is pointed out", () => {
    expect(problems("models:\n  - { id: acme/chat }\n  - { id: openai/gpt4o, quality: 9 }\n")).toEqual([
      'trivium.yaml:2:5 models[0]: the member "targets" is missing',
      'trivium.yaml:3:5 models[1]: the member "targets" is missing; or did you mean the bundled model "openai/gpt-4o"?',
    ])
  })

  test("an entry under models cannot use a bundled model's id as an alias", () => {
    expect(problems(acme("aliases: [openai/gpt-4o]"))[0]).toEndWith('"openai/gpt-4o" is the id of a bundled model')
  })

  test("an entry under models needs an id and at least one target", () => {
    expect(problems("models:\n  - kind: chat\n  - { id: a/b, targets: [] }\n")).toEqual([
      'trivium.yaml:2:5 models[0]: the member "id" is missing',
      'trivium.yaml:2:5 models[0]: the member "targets" is missing',
      "trivium.yaml:3:25 models[1].targets: expected at least 1, found 0",
    ])
  })

  test.each(["a/b", "openai/gpt-4o", "meta/llama/3.3:70b@fp8", "x1._-/A", "a/b/c.d/..e"])(
    "%p is a valid model id",
    (id) => {
      expect(load(`models: [{ id: "${id}", targets: [{ provider: openai, model: m }] }]`).models[0]?.id).toBe(id)
    },
  )

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
  ])("%p is not a valid model id", (id) => {
    expect(problems(`models: [{ id: "${id}", targets: [{ provider: openai, model: m }] }]`)).toEqual([
      `trivium.yaml:1:16 models[0].id: ${JSON.stringify(id)} is not a model id of the form "provider/model-name"`,
    ])
  })

  test("an entry under models shares no id or alias with another", () => {
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

  test("a target's provider must be configured or known", () => {
    const targets =
      "targets: [{ provider: opnai, model: m }, { provider: mine, model: m }, { provider: anthropic, model: m }]"
    expect(problems(`models: [{ id: a/b, ${targets} }]\nproviders: { mine: { type: openai } }`)).toEqual([
      'trivium.yaml:1:43 models[0].targets[0].provider: unknown provider "opnai"; did you mean "openai"?',
    ])
  })

  test("a wrong type is reported with the expected and the found type", () => {
    expect(problems(acme("context_window: 128k"))).toEqual([
      "trivium.yaml:4:21 models[0].context_window: expected a whole number, at least 1, found a string",
    ])
    expect(problems(acme("max_output_tokens: 1.5"))[0]).toEndWith("expected a whole number, at least 1, found 1.5")
    expect(problems(acme("reasoning: maybe"))[0]).toEndWith("expected true or false, found a string")
    expect(problems(acme("display_name: 4.5"))[0]).toEndWith("expected a string, found a number (put it in quotes)")
    expect(problems(acme("kind: chatt"))[0]).toEndWith('unknown value "chatt"; did you mean "chat"?')
    expect(problems("models: {}")[0]).toEndWith("models: expected a list, found a mapping")
  })

  test("an entry under models rejects unknown values and values out of range", () => {
    expect(problems(acme("capabilities: [tool]"))[0]).toEndWith('unknown value "tool"; did you mean "tools"?')
    expect(problems(acme("modalities: { input: [smell], output: [text] }"))[0]).toContain(
      'unknown value "smell"; known:',
    )
    expect(problems(acme("quality: 101"))[0]).toEndWith("expected a whole number from 0 to 100, found 101")
    expect(problems(acme("context_window: 10, max_output_tokens: 11".replace(", ", "\n    ")))[0]).toEndWith(
      '"max_output_tokens" is more than "context_window"',
    )
  })
})

describe("a price", () => {
  test.each(["0", "0.5", "0.000000001", "10.00", "150", "999999"])("a price may be %p", (price) => {
    expect(load(acme(`pricing: { input: "${price}" }`)).models[0]?.pricing?.input).toBe(price)
  })

  test.each(["", "1,50", "-1", "+1", "1e3", ".5", "1.", "01", "0x1", "1 ", "NaN", "1000000", "0.0000000001"])(
    "a price may not be %p",
    (price) => {
      expect(problems(acme(`pricing: { input: "${price}" }`))).toEqual([
        `trivium.yaml:4:23 models[0].pricing.input: expected a decimal such as "0.50", found ${JSON.stringify(price)}`,
      ])
    },
  )

  test("a price without quotation marks is refused, because a number loses cents", () => {
    expect(problems(acme("pricing: { input: 0.1, tiers: [{ above_input_tokens: 9, output: 1 }] }"))).toEqual([
      'trivium.yaml:4:23 models[0].pricing.input: put prices in quotes, such as "0.50": a number without them is a binary fraction and loses cents',
      'trivium.yaml:4:69 models[0].pricing.tiers[0].output: put prices in quotes, such as "0.50": a number without them is a binary fraction and loses cents',
    ])
  })

  test("a price may come from the environment", () => {
    const yaml = acme(`pricing: { input: "\${PRICE}" }`)
    expect(load(yaml, { environment: { PRICE: "0.30" } }).models[0]?.pricing?.input).toBe("0.30")
  })

  test("a price has a known name, and there is at least one", () => {
    expect(problems(acme('pricing: { input: "1", cached_read: "1" }'))[0]).toEndWith('did you mean "cache_read"?')
    expect(problems(acme("pricing: {}"))[0]).toEndWith("models[0].pricing: expected at least one price")
  })

  test("price tiers are in ascending order", () => {
    const tiers = "tiers: [{ above_input_tokens: 200 }, { above_input_tokens: 100 }]"
    expect(problems(acme(`pricing: { input: "1", ${tiers} }`))[0]).toEndWith(
      'the tier with the smallest "above_input_tokens" comes first',
    )
  })
})
