// Every piece of a stream is forwarded at once, in any pair of protocols: the upstream sends the next piece only after
// the client has read the last one, so a gateway that buffers would never finish.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import { codecs } from "../../src/protocols.ts"
import { modelOf, UPSTREAMS, type UpstreamProtocol } from "../conformance/axes.ts"
import type { ScriptedAnswer } from "../conformance/conversation.ts"
import { gatewayConfig } from "../conformance/gateway-config.ts"
import type { EventBytes, UpstreamFormat } from "../conformance/upstreams/upstream-format.ts"
import { upstreamFormats } from "../conformance/upstreams/upstream-formats.ts"
import { members, parsed } from "../conformance/wire.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"

const PATIENCE_MS = 15_000

/** The text a client has read so far, and the waiters for more. */
class ReceivedText {
  text = ""
  private readonly waiting = new Set<() => void>()

  add(text: string): void {
    this.text += text
    for (const look of this.waiting) look()
  }

  /** Whether the client reads this text in time. */
  async within(word: string, patienceMs: number): Promise<boolean> {
    if (this.text.includes(word)) return true
    let look = () => {}
    const received = new Promise<boolean>((resolve) => {
      look = () => this.text.includes(word) && resolve(true)
    })
    this.waiting.add(look)
    const late = Bun.sleep(patienceMs).then(() => false)
    const result = await Promise.race([received, late])
    this.waiting.delete(look)
    return result
  }
}

interface EventGate {
  readonly format: UpstreamFormat
  readonly answer: ScriptedAnswer
  /** For words of the answer, each within one piece, the text that must have been read before the next piece. */
  readonly until: ReadonlyMap<string, string>
  readonly received: ReceivedText
  readonly late: string[]
  readonly patienceMs?: number
}

/** An upstream that waits after each event until its words were read. */
function gated({ format, answer, until, received, late, patienceMs = PATIENCE_MS }: EventGate): UpstreamScript {
  return async ({ body }, reply) => {
    const { events } = format.stream(answer, members(parsed(body.toString())))
    const waits = new Map(until)
    reply.stream({ "content-type": format.contentType })
    for (const event of events) {
      await reply.write(event)
      for (const [piece, word] of waits) {
        if (!textOf(event).includes(piece)) continue
        waits.delete(piece)
        if (!(await received.within(word, patienceMs))) late.push(word)
      }
    }
    reply.end()
  }
}

function textOf(event: EventBytes): string {
  return typeof event === "string" ? event : Buffer.from(event).toString("latin1")
}

/** Clients of these protocols read a call in one piece: it is sent as soon as it is complete. */
const READ_CALLS_WHOLE = ["gemini-generate"]

/** Calls may grow side by side there, and none of them ends before the answer does. */
const ENDS_LATE = ["openai-chat"]

const CALL = "a call's arguments"
const CITY = ["alpha", "bravo-1", "charlie"]
const call = (name: string, city: string) => ({ call: { id: `call_${name}`, name, arguments: { city } } })
const TWO_CALLS: ScriptedAnswer = {
  parts: [call("get_weather", "alphabravo-1charlie"), call("get_time", "delta")],
  finish: "tool-calls",
}

/** Vendors send a few characters at a time, and these words fill such a piece each. */
const ANSWERS: Readonly<Record<string, { readonly answer: ScriptedAnswer; readonly words: readonly string[] }>> = {
  text: {
    answer: { parts: [{ text: "first--second-third--" }], finish: "stop" },
    words: ["first--", "second-", "third--"],
  },
  reasoning: {
    answer: {
      parts: [{ reasoning: "think-1think-2think-3", seal: "c2VhbA==" }, { text: "answer!" }],
      finish: "stop",
    },
    words: ["think-1", "think-2", "think-3", "answer!"],
  },
  [CALL]: {
    answer: {
      parts: [call("get_weather", "alphabravo-1charlie")],
      finish: "tool-calls",
    },
    words: ["get_weather", ...CITY],
  },
}

interface GatedRequest {
  readonly path: (model: string) => string
  readonly body: (model: string) => object
}

const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
const TOOL = { name: "get_weather", description: "The weather in a city." }

const ASKING: Readonly<Record<string, GatedRequest>> = {
  "openai-chat": {
    path: () => "/v1/chat/completions",
    body: (model) => ({
      ...{ model, stream: true, messages: [{ role: "user", content: "hi" }] },
      tools: [{ type: "function", function: { ...TOOL, parameters: SCHEMA } }],
    }),
  },
  "openai-responses": {
    path: () => "/v1/responses",
    body: (model) => ({
      ...{ model, stream: true, input: "hi", store: false },
      tools: [{ type: "function", ...TOOL, parameters: SCHEMA, strict: false }],
    }),
  },
  "anthropic-messages": {
    path: () => "/anthropic/v1/messages",
    body: (model) => ({
      ...{ model, stream: true, max_tokens: 1000, messages: [{ role: "user", content: "hi" }] },
      tools: [{ ...TOOL, input_schema: SCHEMA }],
    }),
  },
  "gemini-generate": {
    path: (model) => `/gemini/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: () => ({
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      tools: [{ functionDeclarations: [{ ...TOOL, parametersJsonSchema: SCHEMA }] }],
    }),
  },
}

/** Reads a stream as it comes; resolves when it is over. */
async function listen(
  url: string,
  { body, key, received }: { body: object; key: string; received: ReceivedText },
): Promise<number> {
  const version = { "anthropic-version": "2023-06-01" }
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", ...version }
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) received.add(decoder.decode(bytes, { stream: true }))
  return response.status
}

const upstreams = new Map<UpstreamProtocol, ScriptedUpstream>()
let gateway: RunningGateway

beforeAll(async () => {
  for (const protocol of UPSTREAMS) upstreams.set(protocol, await ScriptedUpstream.start())
  const origins = Object.fromEntries([...upstreams].map(([protocol, { origin }]) => [protocol, origin]))
  gateway = await RunningGateway.start({ config: gatewayConfig(origins) })
})

afterAll(async () => {
  await gateway.stop()
  for (const upstream of upstreams.values()) await upstream.stop()
})

function upstreamOf(protocol: UpstreamProtocol): ScriptedUpstream {
  const upstream = upstreams.get(protocol)
  if (!upstream) throw new Error(`no upstream speaks ${protocol}`)
  return upstream
}

const upstreamProtocols = UPSTREAMS.filter((protocol) => codecs.upstream.has(protocol))

interface GatedExchange {
  readonly client: string
  readonly protocol: UpstreamProtocol
  readonly answer: ScriptedAnswer
  readonly until: EventGate["until"]
}

async function exchange({
  client,
  protocol,
  answer,
  until,
}: GatedExchange): Promise<{ received: string; late: string[] }> {
  const asking = ASKING[client]
  if (!asking) throw new Error(`there is no request for ${client}`)
  const received = new ReceivedText()
  const late: string[] = []
  upstreamOf(protocol).script = gated({ format: upstreamFormats[protocol], answer, until, received, late })
  const model = modelOf(protocol)
  const url = gateway.url + asking.path(model)
  const status = await listen(url, { body: asking.body(model), key: gateway.key, received })
  expect([status, received.text.includes('"error":{')]).toEqual([200, false])
  return { received: received.text, late }
}

const eachPiece = (words: readonly string[]) => new Map(words.map((word) => [word, word]))

describe.each([...codecs.ingress.keys()])("a stream to a client of %s", (client) => {
  describe.each(upstreamProtocols)("a stream from an upstream of %s", (protocol) => {
    test.each(Object.entries(ANSWERS))(
      "each piece of %s reaches the client before the next is sent",
      async (what, { answer, words }) => {
        const isWhole = what === CALL && READ_CALLS_WHOLE.includes(client)
        const until = eachPiece(isWhole ? [] : words)
        const { received, late } = await exchange({ client, protocol, answer, until })
        expect(late).toEqual([])
        for (const word of words) expect(received).toContain(word)
      },
    )

    const isLate = READ_CALLS_WHOLE.includes(client) && ENDS_LATE.includes(protocol)
    test.skipIf(isLate)("a tool call reaches the client before the next one starts", async () => {
      const until = new Map([["get_time", "charlie"]])
      expect((await exchange({ client, protocol, answer: TWO_CALLS, until })).late).toEqual([])
    })
  })
})

test("a relay that buffers the whole stream is detected", async () => {
  const received = new ReceivedText()
  const late: string[] = []
  const { answer, words } = ANSWERS.text as (typeof ANSWERS)[string]
  const upstream = upstreamOf("openai-chat")
  const until = eachPiece(words)
  upstream.script = gated({ format: upstreamFormats["openai-chat"], answer, until, received, late, patienceMs: 50 })
  const hoarder = createServer(async (_, response) => {
    response.end(await (await fetch(upstream.origin, { method: "POST", body: "{}" })).text())
  })
  await new Promise<void>((resolve) => hoarder.listen(0, "127.0.0.1", resolve))
  const address = hoarder.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  await listen(`http://127.0.0.1:${port}/`, { body: {}, key: "", received })
  hoarder.closeAllConnections()
  await new Promise((resolve) => hoarder.close(resolve))
  expect(late).toEqual([...words])
})
