// Recorded exchanges of real providers through each relayed protocol: relay, decoding and counting.
import { describe, expect, test } from "bun:test"
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import { grownPartKey, type StreamEvent } from "../../src/canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"
import { totalTokens, type Usage } from "../../src/canonical/usage.ts"
import { anthropicMessages } from "../../src/protocols/chat/anthropic-messages/anthropic-messages.ts"
import { geminiGenerate } from "../../src/protocols/chat/gemini-generate/gemini-generate.ts"
import { openaiChat } from "../../src/protocols/chat/openai-chat/openai-chat.ts"
import { openaiResponses } from "../../src/protocols/chat/openai-responses/openai-responses.ts"
import type { Protocol, RequestEnvelope, RequestSummary } from "../../src/protocols/contract.ts"
import { fromByteText, toByteText } from "../../src/transport/json/byte-text.ts"
import { outlineJson } from "../../src/transport/json/json-scan.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { Tee } from "../../src/transport/streams/tee.ts"
import { EXPECTED } from "./expected.ts"
import { type RecordedExchange, recordings, sampleSize, streamText, wholeText } from "./recorded.ts"

interface RecordingSuite {
  readonly protocol: Protocol
  readonly endpoint: string
  readonly operation: string
  readonly headers: RequestEnvelope["headers"]
  /** Members of recorded requests that the gateway refuses on purpose. */
  readonly refused: readonly string[]
  /** A member of every answer of the protocol, and of every stream: some recordings are of other protocols. */
  readonly mark: string
  readonly streamMark: string
  /** The total of a usage in the vendor's own members. */
  total(usage: JsonObject): number | undefined
}

const sum = (...counts: (Json | undefined)[]): number =>
  counts.reduce<number>((all, count) => all + (typeof count === "number" ? count : 0), 0)

const suites: readonly RecordingSuite[] = [
  {
    protocol: openaiChat,
    endpoint: "chat",
    operation: "chat",
    headers: {},
    refused: ["preset"],
    mark: "choices",
    streamMark: '"choices"',
    total: ({ total_tokens }) => (typeof total_tokens === "number" ? total_tokens : undefined),
  },
  {
    protocol: openaiResponses,
    endpoint: "responses",
    operation: "responses",
    headers: {},
    refused: [
      ...["conversation", "service_tier", "vector_store_ids", "file_id", "file_ids", "container", "container_id"],
    ],
    mark: "output",
    streamMark: '"response.created"',
    total: ({ total_tokens }) => (typeof total_tokens === "number" ? total_tokens : undefined),
  },
  {
    protocol: anthropicMessages,
    endpoint: "messages",
    operation: "messages",
    headers: { "anthropic-version": "2023-06-01" },
    refused: ["container", "file_id", "model"],
    mark: "content",
    streamMark: '"message_start"',
    total: (usage) => {
      const compactions = Array.isArray(usage.iterations)
        ? usage.iterations.filter((each): each is JsonObject => isObject(each) && each.type === "compaction")
        : []
      return [usage, ...compactions].reduce(
        (all, { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens }) =>
          all + sum(input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens),
        0,
      )
    },
  },
]

/** A message that opens twice, which clients would refuse as it came. */
function isMended(text: string): boolean {
  return text.split("event: message_start").length > 2 || rulesBroken(text).length > 0
}

/** The rules of the official clients that a stream breaks. */
function rulesBroken(text: string): string[] {
  const responses = [...text.matchAll(/^data: (\{.*"response": ?\{.*\})$/gm)].map(
    ([, data = ""]) => (JSON.parse(data) as { response?: { id?: string } }).response?.id,
  )
  const chunks = [...text.matchAll(/^data: (\{.*"object": ?"chat\.completion\.chunk".*\})$/gm)].map(
    ([, data = ""]) => JSON.parse(data) as RecordedChunk,
  )
  const ids = new Set(chunks.map(({ id }) => id).filter((id) => id))
  const deltas = chunks.flatMap(({ choices }) => (choices ?? []).map(({ index = 0, delta }) => ({ index, delta })))
  const first = new Map(deltas.toReversed().map(({ index, delta }) => [index, delta]))
  const calls = deltas.flatMap(({ delta }) => delta?.tool_calls ?? [])
  const broken = {
    id: ids.size > 1 || new Set(responses).size > 1,
    choices: chunks.some(({ choices }) => !choices),
    role: [...first.values()].some((delta) => delta && !delta.role),
    index: calls.some(({ index }) => index === undefined),
  }
  return Object.entries(broken).flatMap(([rule, isBroken]) => (isBroken ? rule : []))
}

interface RecordedChunk {
  readonly id?: string
  readonly choices?: readonly {
    readonly index?: number
    readonly delta?: { readonly role?: string; readonly tool_calls?: readonly { readonly index?: number }[] }
  }[]
}

for (const suite of suites) describe(suite.protocol.id, () => conforms(suite))

function conforms(suite: RecordingSuite): void {
  const { protocol, operation } = suite
  const good = recordings(suite.endpoint).filter((recording) => recording.status === 200 && isOf(recording, suite))
  const streams = good.flatMap((recording) => {
    const text = streamText(recording)
    return text === undefined ? [] : [{ source: recording.source, text }]
  })

  test("every request that a provider accepted passes the gateway's checks, except for documented refusals", () => {
    expect(good.length).toBeGreaterThanOrEqual(sampleSize(20))
    expect(good.flatMap((recording) => refusal(recording, suite))).toEqual([])
  })

  test("every stream is read to its end and passes with only the model's name changed", () => {
    expect(streams.length).toBeGreaterThanOrEqual(sampleSize(10))
    for (const { source, text } of streams) {
      const { passed, events } = relay(protocol, operation, [text])
      const end = /"error": ?\{/.test(text.slice(-2000)) ? ["stream-error", "stream-end"] : ["stream-end"]
      expect([source, events.some(({ type }) => end.includes(type))]).toEqual([source, true])
      if (end.length === 1) expect([source, assembleResponse(events).candidates.length > 0]).toEqual([source, true])
      if (!isMended(text)) expect(nameless(passed)).toBe(nameless(text))
      else expect(rulesBroken(passed)).toEqual([])
    }
  })

  test("every stream is read alike at any cut of its bytes", () => {
    for (const { text } of streams) {
      const whole = relay(protocol, operation, [text]).passed
      expect(relay(protocol, operation, text.split(/(?<=\n\n)/)).passed).toBe(whole)
      for (const size of [1, 7, 100]) {
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
        expect(relay(protocol, operation, pieces).passed).toBe(whole)
      }
    }
  })

  test("every whole answer passes with only the model's name changed", () => {
    for (const recording of good) {
      const text = wholeText(recording)
      const outlined = text === undefined ? undefined : outlineJson(text)
      if (text === undefined || !outlined) continue
      const answer = protocol.relayResponse(text, outlined, { model: "a/b", reading: readingOf(operation) })
      expect([recording.source, answer && nameless(answer.text)]).toEqual([recording.source, nameless(text)])
    }
  })

  test("the buckets of every usage add up to the reported total", () => {
    const wrong = good.flatMap((recording) => {
      const { wire, decoded } = usageOf(recording, protocol, operation)
      if (!wire || !decoded) return []
      const total = suite.total(wire)
      // A cache write that OpenRouter reports in addition to the prompt is in no total.
      const sums = [totalTokens(decoded), totalTokens({ ...decoded, cacheWrite: 0 })]
      return total === undefined || sums.includes(total) ? [] : [`${recording.source}: ${JSON.stringify(wire)}`]
    })
    expect(wrong).toEqual([])
  })
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  chat: openaiChat,
  responses: openaiResponses,
  messages: anthropicMessages,
  generateContent: geminiGenerate,
  streamGenerateContent: geminiGenerate,
}

describe("expectations worked out by hand", () => {
  test("there are expectations worked out by hand", () =>
    expect(EXPECTED.length).toBeGreaterThanOrEqual(sampleSize(100)))

  for (const { endpoint, provider, source, exchange, usage, finish } of EXPECTED) {
    test(`usage and finish are as worked out by hand: ${provider} ${endpoint}, ${source} ${exchange}`, () => {
      const found = recordings(endpoint).find(
        (each) => each.provider === provider && each.source.endsWith(source) && (each.n ?? 0) === exchange,
      )
      const protocol = PROTOCOLS[endpoint]
      if (!found || !protocol) throw new Error("there is no such recording")
      expect(usageOf(found, protocol, endpoint).decoded).toEqual(usage)
      const text = streamText(found)
      if (text === undefined) return
      const { events } = relay(protocol, endpoint, [text])
      expect(String(assembleResponse(events).candidates[0]?.finish?.reason ?? null)).toBe(String(finish))
    })
  }
})

function readingOf(operation: string): RequestSummary {
  const routing = { fallback: [] }
  return {
    operation,
    model: "a/b",
    stream: true,
    framing: "events",
    usageRequested: true,
    outputLimits: { candidates: 1 },
    routing,
    headers: {},
  }
}

function refusal({ source, request }: RecordedExchange, { protocol, headers, refused }: RecordingSuite): string[] {
  // OpenRouter's own `provider` object is not ours.
  const { provider: _, ...body } = request?.body ?? {}
  if (!body.messages && !body.input) return []
  try {
    protocol.bodyGuard.check(body)
    protocol.readRequest(body, { does: "generate", rest: "", query: "", headers })
    return []
  } catch (error) {
    const param = (error as { param?: string }).param ?? ""
    const member = param.replace(/.*\./, "")
    return refused.includes(member) ? [] : [`${source}: ${error}`]
  }
}

/** The relayed bytes, and the events decoded from them. */
function relay(protocol: Protocol, operation: string, pieces: readonly string[]) {
  const events: StreamEvent[] = []
  const lane = protocol.relayStream({ model: "a/b", reading: readingOf(operation) })
  const tee = new Tee<StreamEvent>({
    observer: lane.observer,
    edit: (frame) => lane.edit(frame),
    onEvent(event) {
      events.push(event)
      return "go-on"
    },
    onObserverFailure: (cause) => {
      throw cause
    },
    growth: { partOf: grownPartKey, mayVary: lane.mayVary, onAlike: () => {}, onText: () => {} },
  })
  const passed = [...pieces.map((piece) => tee.push(fromByteText(piece))), tee.finish()]
  tee.conclude()
  return { passed: passed.map((bytes) => (bytes ? toByteText(bytes) : "")).join(""), events }
}

function usageOf(recording: RecordedExchange, protocol: Protocol, operation: string) {
  const text = streamText(recording)
  if (text !== undefined) {
    const decoded = assembleResponse(relay(protocol, operation, [text]).events).usage
    return { wire: usageIn(text), decoded }
  }
  const { body } = recording.response
  const whole = wholeText(recording)
  const outlined = whole === undefined ? undefined : outlineJson(whole)
  const answer =
    whole !== undefined && outlined
      ? protocol.relayResponse(whole, outlined, { model: "a/b", reading: readingOf(operation) })
      : undefined
  const decoded: Usage | undefined = answer?.usage
  return { wire: isObject(body) && isObject(body.usage) ? body.usage : undefined, decoded }
}

/** The last usage of a stream, merged over the earlier ones. */
function usageIn(text: string): JsonObject | undefined {
  let found: JsonObject | undefined
  for (const { data } of decodeSse().push(text)) {
    if (!data?.includes('"usage"')) continue
    const event = JSON.parse(data) as { usage?: Json; response?: { usage?: Json }; message?: { usage?: Json } }
    const usage = event.usage ?? event.response?.usage ?? event.message?.usage
    if (isObject(usage)) found = { ...found, ...usage }
  }
  return found
}

function isOf(recording: RecordedExchange, { mark, streamMark }: RecordingSuite): boolean {
  const { body } = recording.response
  const text = streamText(recording)
  if (text !== undefined) return text.includes(streamMark)
  return isObject(body) && body[mark] !== undefined && body.object !== "thread.message" && body.status !== "failed"
}

function nameless(json: string): string {
  return json
    .replace(/"model":\s*"[^"]*"/g, '"model":""')
    .replace(/data: \[DONE\]\s*$/, "")
    .trim()
}
