// Shared by this codec's tests: contexts, round trips, and decoded and encoded streams.

import type { ChatRequest } from "../../../canonical/chat/chat-request.ts"
import type { PartStart, StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { decodeByteText, encodeByteText } from "../../../transport/json/byte-text.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import type { ClientResponseContext, UpstreamRequestContext, UpstreamResponseContext } from "../../chat-codec.ts"
import { openaiResponsesCodec } from "./codec.ts"

const { ingress, upstream } = openaiResponsesCodec

const ENVELOPE = { does: "generate", rest: "", query: "", headers: {} } as const

export const ID = "abcdefghijklmnopqrstuvwx"

/** A request with every kind of member that a response repeats. */
export const REQUEST_BODY = {
  model: "a/b",
  input: "hi",
  tools: [
    { type: "function", name: "f", parameters: { type: "object" } },
    { type: "custom", name: "patch" },
    {
      type: "namespace",
      name: "agents",
      description: "d",
      tools: [{ type: "function", name: "open", parameters: {}, strict: false }],
    },
    { type: "local_shell" },
  ],
  tool_choice: "required",
  temperature: 0.5,
  max_output_tokens: 99,
  metadata: { a: "b" },
  reasoning: { effort: "low" },
  text: { verbosity: "high" },
}

export function upstreamContext(
  more: Partial<UpstreamRequestContext> = {},
): UpstreamRequestContext & { losses: Losses } {
  const limits = { maxOutputTokens: 4096, reasons: false, losses: [] }
  return { model: "up-1", stream: false, streamUsage: "sent", minter: "host", ...limits, ...more }
}

export function encodeContext(more: Partial<ClientResponseContext> = {}): ClientResponseContext & { losses: Losses } {
  const request = { model: "a/b", tools: [], settings: {}, stream: false, routing: { fallback: [] } }
  const usual = { request, usageRequested: true, framing: "events", losses: [] } as const
  return { id: ID, model: "a/b", unixTime: 1_700_000_000, ...usual, ...more, losses: [] }
}

export const DECODING: UpstreamResponseContext = { id: ID, minter: "host" }

export function decoded(body: object): ChatRequest {
  return ingress.decodeRequest(body as JsonObject, ENVELOPE)
}

/** The context of a response to this request. */
export function answering(body: object): ClientResponseContext & { losses: Losses } {
  const { turns: _, instructions: __, ...request } = decoded(body)
  return encodeContext({ request })
}

/** Decodes a request and encodes it in the same protocol, without `store`, which the gateway owns. */
export function roundTrip(body: JsonObject): JsonObject {
  const request = decoded(body)
  const again = upstream.encodeRequest(request, upstreamContext({ model: request.model, stream: request.stream }))
  const { store: _, ...rest } = again
  return { ...rest, ...(body.store !== undefined && { store: body.store }) }
}

function canonical(request: Partial<ChatRequest>): ChatRequest {
  const empty = { instructions: [], turns: [], tools: [], settings: {}, stream: false, routing: { fallback: [] } }
  return { model: "a/b", ...empty, ...request }
}

/** An encoded request and its losses, each as `weight how path`. */
export function encoded(request: Partial<ChatRequest>, more: Partial<UpstreamRequestContext> = {}) {
  const context = upstreamContext(more)
  const { model: _, store: __, ...body } = upstream.encodeRequest(canonical(request), context)
  return { body, losses: context.losses.map(({ weight, how, path }) => `${weight} ${how} ${path}`) }
}

export function readStream(pieces: readonly string[], context = DECODING): StreamEvent[] {
  const sse = decodeSse()
  const decoder = upstream.decodeStream(context)
  const frames = [...pieces.flatMap((piece) => sse.push(piece)), ...sse.finish()]
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

export function writeStream(events: readonly StreamEvent[], context = encodeContext()): string[] {
  const encoder = ingress.encodeStream(context)
  return [...events.flatMap((event) => encoder.push(event)), ...encoder.finish()]
}

/** Events as a provider sends them, numbered as they come. */
export function sent(...events: readonly JsonObject[]): string {
  return events
    .map((event, sequence_number) => {
      const data = JSON.stringify({ ...event, sequence_number })
      return encodeByteText(`event: ${event.type}\ndata: ${data}\n\n`)
    })
    .join("")
}

export function eventsIn(text: string): JsonObject[] {
  return [...decodeByteText(text).matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as JsonObject)
}

/** A member that is null counts as absent. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const present = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(present.map(([name, each]) => [name, withoutNulls(each)]))
}

export const start = (part: number, begin: PartStart): StreamEvent => ({
  type: "part-start",
  candidate: 0,
  part,
  start: begin,
})
export const delta = (part: number, text: string): StreamEvent => ({ type: "part-delta", candidate: 0, part, text })
export const end = (part: number): StreamEvent => ({ type: "part-end", candidate: 0, part })
export const call = (id: string, name = "f"): PartStart => ({ kind: "tool-call", id, name, runsAt: "client" })
export const finish: StreamEvent = { type: "candidate-end", candidate: 0, finish: { reason: "stop" } }
export const over: StreamEvent = { type: "stream-end" }
