// Shared by this codec's tests: contexts, equality of requests for the vendor, and the grammar of its streams.

import type { ChatRequest } from "../../../canonical/chat/chat-request.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import type { ClientResponseContext, UpstreamRequestContext, UpstreamResponseContext } from "../../chat-codec.ts"
import type { RequestEnvelope } from "../../contract.ts"
import { geminiGenerateCodec } from "./codec.ts"
import { toJsonSchema } from "./gemini-schema.ts"

export const envelope: RequestEnvelope = {
  does: "generate",
  rest: "models/google/gemini-2.5-flash:generateContent",
  query: "",
  headers: {},
}

export function upstream(
  more: Partial<UpstreamRequestContext> = {},
): UpstreamRequestContext & { readonly losses: Losses } {
  const model = "gemini-2.5-flash"
  return {
    ...{ model, stream: false, streamUsage: "sent", minter: "google", maxOutputTokens: 8192, reasons: true },
    losses: [],
    ...more,
  }
}

export function client(more: Partial<ClientResponseContext> = {}): ClientResponseContext & { readonly losses: Losses } {
  const id = "abcdefghijklmnopqrstuvwx"
  const request = { model: "a/b", tools: [], settings: {}, stream: false, routing: { fallback: [] } }
  return { id, model: "a/b", request, unixTime: 0, usageRequested: true, framing: "events", losses: [], ...more }
}

export const decoding: UpstreamResponseContext = { id: "abcdefghijklmnopqrstuvwx", minter: "google" }

export function decoded(body: JsonObject): ChatRequest {
  return geminiGenerateCodec.ingress.decodeRequest(body, envelope)
}

/** A request with only these members. */
export function request(more: Partial<ChatRequest>): ChatRequest {
  const turns = [{ role: "user", parts: [{ kind: "text", text: "hi" }] }] as const
  const routing = { fallback: [] }
  return { model: "a/b", instructions: [], turns, tools: [], settings: {}, stream: false, routing, ...more }
}

/** Members with the caller's own names, which keep their spelling. */
const OPAQUE = ["args", "response", "parametersJsonSchema", "responseJsonSchema", "safetySettings"]

/**
 * Normalizes requests with the same meaning for the vendor: one spelling, no null, an explicit user role, one schema
 * dialect, one base64 alphabet.
 */
export function plain(value: Json, name = ""): Json {
  if (OPAQUE.includes(name)) return value
  if (Array.isArray(value)) return value.map((each: Json) => plain(each, name))
  if (!isObject(value)) return name === "data" ? String(value).replaceAll("-", "+").replaceAll("_", "/") : value
  const entries = Object.entries(value).flatMap(([spelled, held]): [string, Json][] => {
    const member = spelled.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (held === null || (name === "" && (member === "model" || member === "provider"))) return []
    if (name === "systemInstruction" && member === "role") return []
    if (name === "contents" && member === "role" && held === "") return []
    if (member === "generationConfig" && isObject(held) && Object.keys(held).length === 0) return []
    if (member === "parameters") return [["parametersJsonSchema", toJsonSchema(held)]]
    if (member === "responseSchema") return [["responseJsonSchema", toJsonSchema(held)]]
    if (member === "thinkingLevel") return [[member, String(held).toUpperCase()]]
    if (member === "parts" && !Array.isArray(held)) return [[member, [plain(held, member)]]]
    return [[member, plain(held, member)]]
  })
  const base: JsonObject =
    name === "contents" ? { role: "user" } : /^(?:function|tool)Call$/.test(name) ? { args: {} } : {}
  return { ...base, ...Object.fromEntries(entries) }
}

export function written(events: readonly StreamEvent[], context: ClientResponseContext): string[] {
  const encoder = geminiGenerateCodec.ingress.encodeStream(context)
  return [...events.flatMap((event) => encoder.push(event)), ...encoder.finish()]
}

export function decodedStream(text: string, context = decoding): StreamEvent[] {
  const sse = decodeSse()
  const decoder = geminiGenerateCodec.upstream.decodeStream(context)
  const frames = [...sse.push(text), ...sse.finish()]
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

const DATA = ["text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"]
const MORE_DATA = ["codeExecutionResult", "toolCall", "toolResponse"]
const ANNOTATIONS = ["thought", "thoughtSignature"]

/** Violations of the protocol's stream grammar, as clients read it; empty for a valid stream. */
export function breaches(frames: readonly string[]): string[] {
  const found: string[] = []
  const ended = new Set<Json | undefined>()
  const seen = new Set<Json | undefined>()
  for (const frame of frames) {
    const [, data] = /^data: (\{[^\n]*\})\n\n$/.exec(frame) ?? []
    if (data === undefined) {
      found.push(`no event of one line: ${frame}`)
      continue
    }
    const chunk: JsonObject = JSON.parse(data)
    if (typeof chunk.modelVersion !== "string" || typeof chunk.responseId !== "string") found.push("no names")
    if (!Array.isArray(chunk.candidates) && chunk.promptFeedback === undefined && frames.length > 1)
      found.push("no candidate")
    for (const candidate of Array.isArray(chunk.candidates) ? chunk.candidates.filter(isObject) : []) {
      if (ended.has(candidate.index)) found.push(`candidate ${candidate.index} goes on after its end`)
      seen.add(candidate.index)
      if (candidate.finishReason !== undefined) ended.add(candidate.index)
      found.push(...contentBreaches(candidate.content))
    }
  }
  for (const index of seen) if (!ended.has(index)) found.push(`candidate ${index} has no end`)
  return found
}

function contentBreaches(content: Json | undefined): string[] {
  if (!isObject(content) || content.role !== "model" || !Array.isArray(content.parts)) return ["no content"]
  if (content.parts.length === 0) return ["no part"]
  return content.parts.flatMap((part: Json) => {
    if (!isObject(part)) return ["a part that is none"]
    const kinds = Object.keys(part).filter((name) => !ANNOTATIONS.includes(name))
    if (kinds.length !== 1 || ![...DATA, ...MORE_DATA].includes(kinds[0] ?? "")) return [`a part of kinds ${kinds}`]
    const { functionCall } = part
    if (!isObject(functionCall)) return []
    return isObject(functionCall.args) && typeof functionCall.name === "string" ? [] : ["a call that is not whole"]
  })
}
