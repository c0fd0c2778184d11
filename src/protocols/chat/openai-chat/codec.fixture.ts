// Shared by this codec's tests: contexts, decoded and encoded streams, and the grammar of a chat completions stream.

import type { ChatRequest } from "../../../canonical/chat/chat-request.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { decodeByteText } from "../../../transport/json/byte-text.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import type { ClientResponseContext, UpstreamRequestContext, UpstreamResponseContext } from "../../chat-codec.ts"
import { openaiChatCodec } from "./codec.ts"

const { ingress, upstream } = openaiChatCodec

export const ENVELOPE = { does: "generate", rest: "", query: "", headers: {} } as const

export function upstreamContext(
  more: Partial<UpstreamRequestContext> = {},
): UpstreamRequestContext & { losses: Losses } {
  const limitMembers = ["max_completion_tokens", "max_tokens"]
  const limits = { maxOutputTokens: 4096, limitMembers, reasons: false, losses: [] }
  return { model: "up-1", stream: false, streamUsage: "sent", minter: "host", ...limits, ...more }
}

export function encodeContext(more: Partial<ClientResponseContext> = {}): ClientResponseContext & { losses: Losses } {
  const request = { model: "a/b", tools: [], settings: {}, stream: false, routing: { fallback: [] } }
  const usual = { request, usageRequested: true, framing: "events", losses: [] } as const
  return { id: "abcdefghijklmnopqrstuvwx", model: "a/b", unixTime: 1_700_000_000, ...usual, ...more, losses: [] }
}

export const DECODING: UpstreamResponseContext = { id: "abcdefghijklmnopqrstuvwx", minter: "host" }

/** Decodes a request and encodes it in the same protocol. */
export function roundTrip(body: JsonObject): JsonObject {
  const request = ingress.decodeRequest(body, ENVELOPE)
  return upstream.encodeRequest(request, upstreamContext({ model: request.model, stream: request.stream }))
}

export function canonical(request: Partial<ChatRequest>): ChatRequest {
  const empty = { instructions: [], turns: [], tools: [], settings: {}, stream: false, routing: { fallback: [] } }
  return { model: "a/b", ...empty, ...request }
}

/** An encoded request and its losses, each as `weight how path`. */
export function encoded(request: Partial<ChatRequest>, more: Partial<UpstreamRequestContext> = {}) {
  const context = upstreamContext(more)
  const body = upstream.encodeRequest(canonical(request), context)
  return { body, losses: context.losses.map(({ weight, how, path }) => `${weight} ${how} ${path}`) }
}

export function read(pieces: readonly string[], context = DECODING): StreamEvent[] {
  const sse = decodeSse()
  const decoder = upstream.decodeStream(context)
  const frames = [...pieces.flatMap((piece) => sse.push(piece)), ...sse.finish()]
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

export function written(events: readonly StreamEvent[], context = encodeContext()): string[] {
  const encoder = ingress.encodeStream(context)
  return [...events.flatMap((event) => encoder.push(event)), ...encoder.finish()]
}

/** A member that is null counts as absent. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const present = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(present.map(([name, each]) => [name, withoutNulls(each)]))
}

/** Throws if the frames are not a complete stream for a strict client. */
export function checkGrammar(frames: readonly string[]): void {
  const choices = new Map<number, { calls: number; ended: boolean }>()
  let id: Json | undefined
  let counted = false
  const last = frames.at(-1)
  if (last !== "data: [DONE]\n\n") throw new Error(`ends in ${last}`)
  for (const frame of frames.slice(0, -1)) {
    const [, data] = /^data: (\{.*\})\n\n$/.exec(decodeByteText(frame)) ?? []
    if (data === undefined) throw new Error(`no frame: ${frame}`)
    const chunk = JSON.parse(data)
    if (chunk.object !== "chat.completion.chunk" || typeof chunk.created !== "number") throw new Error(`odd: ${data}`)
    if (id !== undefined && chunk.id !== id) throw new Error("the id changes")
    id = chunk.id
    if (counted) throw new Error("a chunk after usage")
    if (chunk.choices.length === 0) {
      if (!isObject(chunk.usage)) throw new Error(`a chunk of nothing: ${data}`)
      counted = true
    }
    for (const choice of chunk.choices) checkChoice(choice, choices)
  }
  if (choices.size === 0) throw new Error("no choice")
  for (const [index, { ended }] of choices) if (!ended) throw new Error(`choice ${index} never ends`)
}

function checkChoice(choice: JsonObject, choices: Map<number, { calls: number; ended: boolean }>): void {
  const { index, delta, finish_reason } = choice
  if (typeof index !== "number" || !isObject(delta)) throw new Error(`no choice: ${JSON.stringify(choice)}`)
  let known = choices.get(index)
  if (!known && delta.role !== "assistant") throw new Error("the first delta has no role")
  if (known && "role" in delta) throw new Error("a role in a later delta")
  known ??= { calls: 0, ended: false }
  choices.set(index, known)
  if (known.ended) throw new Error(`choice ${index} goes on after its end`)
  if (finish_reason === undefined) throw new Error("no finish_reason, not even null")
  known.ended = finish_reason !== null
  for (const call of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
    const isNew = call.index === known.calls
    if (isNew && (!call.id || !call.type)) throw new Error("a call begins without its id and type")
    if (!isNew && !(call.index < known.calls)) throw new Error(`call ${call.index} out of turn`)
    if (isNew) known.calls++
  }
  if (known.ended && known.calls > 0 !== (finish_reason === "tool_calls") && finish_reason !== "length") {
    if (finish_reason !== "content_filter") throw new Error(`ends with ${finish_reason} and ${known.calls} calls`)
  }
}
