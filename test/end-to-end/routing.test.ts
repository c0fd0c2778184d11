// Routing by measured latency and quality, and session affinity.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { anthropicMessage } from "../stage/anthropic-wire.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { chunk, completion, DONE, ScriptedUpstream, streams, type UpstreamScript } from "../stage/upstream.ts"

let one: ScriptedUpstream
let two: ScriptedUpstream
let gateway: InProcessGateway

beforeEach(async () => {
  one = await ScriptedUpstream.start()
  two = await ScriptedUpstream.start()
  const at = ({ baseUrl }: ScriptedUpstream) =>
    `{ type: openai-compatible, protocols: [openai-chat], base_url: "${baseUrl}", api_key: "credential" }`
  const targets = "targets: [{ provider: one, model: m }, { provider: two, model: m }]"
  gateway = InProcessGateway.start({
    config: `
admin: { port: 0 }
providers:
  one: ${at(one)}
  two: ${at(two)}
models:
  - { id: t/equal, max_output_tokens: 1000, pricing: { input: "1", output: "2", cache_read: "0.1" }, ${targets} }
  - { id: t/other, pricing: { input: "1", output: "2" }, ${targets} }
`,
  })
})
afterEach(async () => {
  await gateway.stop()
  await one.stop()
  await two.stop()
})

const HI = [{ role: "user", content: "Hi" }]

/** The provider that answered. */
async function ask(body: object): Promise<string | null> {
  const answer = await gateway.chat({ model: "t/equal", messages: HI, ...body })
  await answer.text()
  expect(answer.status).toBe(200)
  return answer.headers.get("x-gateway-provider")
}

async function countByProvider(times: number, body: object): Promise<Record<string, number>> {
  const counts: Record<string, number> = { one: 0, two: 0 }
  for (let each = 0; each < times; each++) {
    const provider = (await ask(body)) ?? ""
    counts[provider] = (counts[provider] ?? 0) + 1
  }
  return counts
}

const slowly =
  (script: UpstreamScript, ms: number): UpstreamScript =>
  async (request, reply) => {
    await Bun.sleep(ms)
    await script(request, reply)
  }

test("requests of one model rotate between its targets, independent of other models", async () => {
  const seen: (string | null)[] = []
  for (let each = 0; each < 6; each++) {
    seen.push(await ask({}))
    await ask({ model: "t/other" })
  }
  expect(seen.filter((provider) => provider === "one")).toHaveLength(3)
})

describe("routing by latency", () => {
  test.each([false, true])("most requests go to the faster provider so far, streamed: %p", async (stream) => {
    const words = streams([chunk({ role: "assistant", content: "Hello." }, "stop"), DONE])
    const answers: UpstreamScript = stream ? words : (_, reply) => reply.json(completion("Hello."))
    one.script = slowly(answers, 40)
    two.script = answers
    await countByProvider(4, { stream })
    const { two: faster = 0 } = await countByProvider(40, { stream, provider: { routing: "latency" } })
    expect(faster).toBeGreaterThanOrEqual(32)
  })
})

describe("routing by quality", () => {
  const called = (text: string, finish = "tool_calls") => {
    const call = { index: 0, id: "c", type: "function", function: { name: "f", arguments: text } }
    return {
      whole: completion("", {
        choices: [
          { index: 0, message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: finish },
        ],
      }),
      events: [
        chunk({ role: "assistant", tool_calls: [{ ...call, function: { name: "f", arguments: "" } }] }),
        ...[...text].map((letter) => chunk({ tool_calls: [{ index: 0, function: { arguments: letter } }] })),
        chunk({}, finish),
        DONE,
      ],
    }
  }
  const textAnswer = (text: string, finish = "stop", tokens = 3) => ({
    whole: completion(text, {
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: finish }],
      usage: { prompt_tokens: 9, completion_tokens: tokens, total_tokens: 9 + tokens },
    }),
    events: [
      chunk({ role: "assistant", content: "" }),
      ...[...text].map((letter) => chunk({ content: letter })),
      chunk({}, finish),
      chunk({}, null, {
        choices: [],
        usage: { prompt_tokens: 9, completion_tokens: tokens, total_tokens: 9 + tokens },
      }),
      DONE,
    ],
  })
  type RoutingAnswer = ReturnType<typeof textAnswer>
  const script =
    ({ whole, events }: RoutingAnswer): UpstreamScript =>
    (request, reply) =>
      JSON.parse(request.body.toString()).stream ? streams(events)(request, reply) : reply.json(whole)

  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }]
  const json = { response_format: { type: "json_object" } }
  const FAULTS: [string, object, RoutingAnswer, RoutingAnswer][] = [
    ["arguments that are not JSON", { tools }, called('{"a": 1}'), called('{"a": 1')],
    ["text instead of the requested JSON", json, textAnswer('{"a": 1}'), textAnswer("Sure! {}")],
    [
      "an end below the requested length",
      { max_tokens: 50, tools },
      textAnswer("Hello.", "length", 50),
      textAnswer("Hel", "length", 3),
    ],
  ]

  for (const stream of [false, true]) {
    test.each(FAULTS)(
      `a provider that answers with %s is tried last, streamed: ${stream}`,
      async (_, body, good, bad) => {
        one.script = script(bad)
        two.script = script(good)
        await countByProvider(8, { ...body, stream })
        expect(await countByProvider(5, { ...body, stream, provider: { routing: "quality" } })).toEqual({
          one: 0,
          two: 5,
        })
      },
    )
  }

  test("an answer without JSON does not count against a provider if JSON was not requested", async () => {
    one.script = script(textAnswer("no JSON"))
    two.script = script(textAnswer('{"a": 1}'))
    await countByProvider(8, { tools })
    const { one: bad = 0 } = await countByProvider(6, { tools, provider: { routing: "quality" } })
    expect(bad).toBe(3)
  })
})

describe("session affinity", () => {
  const beginning = (word: string) => [
    { role: "system", content: "Be kind. ".repeat(600) },
    { role: "user", content: word },
  ]
  const more = [
    { role: "assistant", content: "Hello." },
    { role: "user", content: "More." },
  ]

  test("a conversation stays at the provider with its prompt cache, and others rotate", async () => {
    const homes = new Map<string, string | null>()
    for (const word of ["a", "b", "c", "d"]) homes.set(word, await ask({ messages: beginning(word) }))
    expect([...homes.values()].filter((home) => home === "one")).toHaveLength(2)
    for (const [word, home] of homes) {
      for (let turn = 0; turn < 3; turn++) expect(await ask({ messages: [...beginning(word), ...more] })).toBe(home)
    }
  })

  test("a conversation too short for a cache rotates, unless it has a cache key", async () => {
    expect(await countByProvider(6, {})).toEqual({ one: 3, two: 3 })
    const { one: named = 0 } = await countByProvider(6, { prompt_cache_key: "s" })
    expect([0, 6]).toContain(named)
  })

  test("a conversation moves if its provider fails", async () => {
    const home = await ask({ messages: beginning("a") })
    const [gone, other] = home === "one" ? [one, "two"] : [two, "one"]
    gone.script = (_, reply) => reply.json({ error: { message: "no" } }, 503)
    expect(await ask({ messages: beginning("a") })).toBe(other)
    gone.script = (_, reply) => reply.json(completion("Hello."))
    expect(await ask({ messages: beginning("a") })).toBe(other)
  })
})

test("a provider whose token counter fails still receives generation requests", async () => {
  one.script = ({ path }, reply) =>
    path.endsWith("count_tokens")
      ? reply.json({ error: { message: "no" } }, 404)
      : reply.json(anthropicMessage("Hello."))
  const config = `
admin: { port: 0 }
providers:
  one: { type: anthropic-compatible, base_url: "${one.origin}", api_key: "credential" }
  two: { type: simulator }
models:
  - { id: t/claude, pricing: { input: "1", output: "2" }, targets: [{ provider: one, model: m }, { provider: two, model: m, priority: 2 }] }
`
  const other = InProcessGateway.start({ config })
  const post = (path: string, body: object) =>
    fetch(`${other.url}/anthropic/v1/messages${path}`, {
      method: "POST",
      headers: { "x-api-key": other.key, "anthropic-version": "2023-06-01", "content-type": "application/json" },
      body: JSON.stringify({ model: "t/claude", messages: HI, ...body }),
    })
  for (let each = 0; each < 8; each++) await (await post("/count_tokens", {})).text()
  const answer = await post("", { max_tokens: 5 })
  expect(answer.headers.get("x-gateway-provider")).toBe("one")
  await answer.text()
  await other.stop()
})
