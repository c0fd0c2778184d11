// Recorded answers of real providers in canonical form, encoded for clients of every protocol.
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../src/canonical/chat/chat-response.ts"
import type { StreamEvent } from "../../src/canonical/chat/stream-event.ts"
import { isObject, type JsonObject } from "../../src/canonical/json.ts"
import type { ClientResponseContext } from "../../src/protocols/chat-codec.ts"
import { codecs } from "../../src/protocols.ts"
import { decodeByteText } from "../../src/transport/json/byte-text.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { type RecordedExchange, recordings, streamText } from "../recordings/recorded.ts"

export interface RecordedAnswer {
  readonly source: string
  readonly events: readonly StreamEvent[]
  readonly response: ChatResponse
}

/** The interfaces of the recordings, and the protocol of each. */
export const ENDPOINTS: Readonly<Record<string, string>> = {
  chat: "openai-chat",
  responses: "openai-responses",
  messages: "anthropic-messages",
  generateContent: "gemini-generate",
  streamGenerateContent: "gemini-generate",
}

/** Every recorded answer that was not an error. */
export function recordedAnswers(): RecordedAnswer[] {
  return Object.entries(ENDPOINTS).flatMap(([endpoint, protocol]) =>
    recordings(endpoint).flatMap((recording) => {
      const read = recording.status === 200 ? readAnswer(recording, protocol) : undefined
      return read ? [{ source: `${recording.provider} ${endpoint} ${recording.source}`, ...read }] : []
    }),
  )
}

const DECODING = { id: "abcdefghijklmnopqrstuvwx", minter: "minter" }

function readAnswer(recording: RecordedExchange, protocol: string): Omit<RecordedAnswer, "source"> | undefined {
  const codec = codecs.upstream.get(protocol)
  if (!codec) throw new Error(`no decoder for ${protocol}`)
  const text = streamText(recording)
  if (text === undefined) {
    const { body } = recording.response
    // Messages of OpenAI's threads are recorded along with Anthropic's.
    const isAnswer = isObject(body) && body.object !== "thread.message"
    const response = isAnswer ? codec.decodeResponse(body, DECODING) : undefined
    return response && { response, events: eventsOf(response) }
  }
  const decoder = codec.decodeStream(DECODING)
  const sse = decodeSse()
  const frames = [...sse.push(text), ...sse.finish()]
  const events = [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
  return { events, response: assembleResponse(events) }
}

/** A whole answer as the events of an equivalent stream. */
function eventsOf({ id, candidates, usage }: ChatResponse): StreamEvent[] {
  const events: StreamEvent[] = [{ type: "stream-start", ...(id !== undefined && { id }) }]
  for (const { index: candidate, parts, finish, logprobs } of candidates) {
    for (const [part, content] of parts.entries()) {
      const at = { candidate, part }
      const sealed = "sealed" in content && content.sealed ? { sealed: content.sealed } : {}
      if (content.kind === "tool-call") {
        const { arguments: text, at: _, cacheMark: __, extra: ___, ...start } = content
        events.push({ type: "part-start", ...at, start }, { type: "part-delta", ...at, text })
      } else if (content.kind === "reasoning") {
        events.push({ type: "part-start", ...at, start: { kind: "reasoning", form: content.form } })
        events.push({ type: "part-delta", ...at, text: content.text })
      } else if (content.kind === "text" || content.kind === "refusal") {
        events.push({ type: "part-start", ...at, start: { kind: content.kind } })
        events.push({ type: "part-delta", ...at, text: content.text })
        const citations = content.kind === "text" ? (content.citations ?? []) : []
        for (const citation of citations) events.push({ type: "part-cite", ...at, citation })
      } else events.push({ type: "part-start", ...at, start: { kind: "whole", part: content } })
      events.push({ type: "part-end", ...at, ...sealed })
    }
    if (logprobs) events.push({ type: "logprobs", candidate, tokens: logprobs })
    if (finish) events.push({ type: "candidate-end", candidate, finish })
  }
  if (usage) events.push({ type: "usage", usage })
  return [...events, { type: "stream-end" }]
}

export function encodeContext(): ClientResponseContext {
  const request = { model: "a/b", tools: [], settings: {}, stream: true, routing: { fallback: [] } }
  const usual = { request, unixTime: 1_700_000_000, usageRequested: true, framing: "events" } as const
  return { id: "abcdefghijklmnopqrstuvwx", model: "a/b", ...usual, losses: [] }
}

/** The body that a client of this protocol gets for a whole answer. */
export function wholeIn(protocol: string, response: ChatResponse): JsonObject {
  const codec = codecs.ingress.get(protocol)
  if (!codec) throw new Error(`no encoder for ${protocol}`)
  return JSON.parse(JSON.stringify(codec.encodeResponse(response, encodeContext())))
}

/** The events that a client of this protocol is sent for a streamed answer. */
export function streamIn(protocol: string, events: readonly StreamEvent[]): JsonObject[] {
  const writer = codecs.ingress.get(protocol)?.encodeStream(encodeContext())
  if (!writer) throw new Error(`no encoder for ${protocol}`)
  const text = [...events.flatMap((event) => writer.push(event)), ...writer.finish()].join("")
  return dataIn(text)
}

/** The JSON data of every event in a stream's byte text. */
export function dataIn(text: string): JsonObject[] {
  const sse = decodeSse()
  return [...sse.push(text), ...sse.finish()].flatMap(({ data }) => {
    if (data === undefined || data.trim() === "[DONE]" || data.trim() === "") return []
    try {
      const parsed: unknown = JSON.parse(decodeByteText(data))
      return isObject(parsed) ? [parsed] : []
    } catch {
      // Some recordings end in the midst of an event.
      return []
    }
  })
}
