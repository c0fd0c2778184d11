// Encodes a stream of chunks. Text is sent as it arrives; other parts are sent whole, one after the other. The finish
// reason and the usage are one chunk at the end: the vendor's client forgets a whole turn for a single chunk without a
// part (genai 2.32).

import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { GatewayError } from "../../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import { encodeByteText } from "../../../../transport/json/byte-text.ts"
import type { ClientResponseContext, StreamWriter } from "../../../chat-codec.ts"
import { foreignPaths } from "../../../losses.ts"
import { ERROR_PAUSE_MS, errorElement, errorFrame } from "../errors.ts"
import { type GeminiDraft, PROTOCOL } from "../passthrough-fields.ts"
import { encodeUsage } from "../usage.ts"
import { isBlocked } from "./encode-response.ts"
import { reportUsage } from "./encode-response-common.ts"
import { type CandidateEvent, GeminiCandidateEncoder } from "./encode-stream-candidate.ts"

export function encodeStream(context: ClientResponseContext): StreamWriter {
  return new GeminiStreamEncoder(context)
}

class GeminiStreamEncoder implements StreamWriter {
  private readonly candidates = new Map<number, GeminiCandidateEncoder>()
  /** Members of the next chunk other than its candidate. */
  private ownMembers: JsonObject | undefined
  private usage: Usage | undefined
  /** True if the response came in this protocol, so that its foreign members are written. */
  private native = false
  private reported = false
  private begun = false
  private over = false

  readonly errorPauseMs: number

  constructor(private readonly context: ClientResponseContext) {
    this.errorPauseMs = context.framing === "events" ? ERROR_PAUSE_MS : 0
  }

  push(event: StreamEvent): string[] {
    if (this.over) return []
    if ("candidate" in event) return this.ofCandidate(event)
    if (event.type === "usage" && this.context.usageRequested) this.count(event.usage)
    if (event.type === "foreign") this.take(event)
    return event.type === "stream-end" ? this.end() : []
  }

  /** A stream without an end is incomplete, and nothing is written that would hide it. */
  finish(): string[] {
    return []
  }

  errorFrame(error: GatewayError): string {
    return this.context.framing === "events" ? errorFrame(error) : errorElement(error, this.begun)
  }

  private ofCandidate(event: CandidateEvent): string[] {
    const candidate = this.candidate(event.candidate)
    if (candidate.ended) return []
    if (this.native && (event.type === "part-cite" || event.type === "logprobs")) return []
    return candidate.take(event).map((wire) => this.chunk([wire]))
  }

  private count(usage: Usage): void {
    if (!this.reported) this.reported = reportUsage(usage, this.context.losses)
    this.usage = usage
  }

  private candidate(index: number): GeminiCandidateEncoder {
    const known = this.candidates.get(index)
    if (known) return known
    const candidate = new GeminiCandidateEncoder(index, this.context)
    this.candidates.set(index, candidate)
    return candidate
  }

  private take({ protocol, value }: { protocol: string; value: Json }): void {
    if (protocol !== PROTOCOL || !isObject(value)) {
      this.loseForeign(protocol, value)
      return
    }
    this.native = true
    const { candidates, ...members } = value
    this.ownMembers = { ...this.ownMembers, ...members }
    for (const candidate of Array.isArray(candidates) ? candidates.filter(isObject) : []) {
      const { index, ...more } = candidate
      this.candidate(typeof index === "number" ? index : 0).addMembers(more)
    }
  }

  private loseForeign(protocol: string, value: Json): void {
    const { losses } = this.context
    const why = `Only ${protocol} has this.`
    for (const path of foreignPaths(value)) {
      if (!losses.some((loss) => loss.path === path)) losses.push({ path, weight: "hint", how: "dropped", why })
    }
  }

  private end(): string[] {
    const candidates = [...this.candidates.values()]
    const refused = isBlocked(this.ownMembers)
    const written = candidates.flatMap((candidate) => candidate.rest()).map((wire) => this.chunk([wire]))
    if (candidates.length > 0 || refused || this.usage) {
      written.push(this.chunk(refused ? [] : candidates.map((candidate) => candidate.last())))
    }
    this.over = true
    if (this.context.framing === "array") written.push(this.begun ? "]" : "[]")
    return written
  }

  /** Each chunk has the usage so far. Plain assignments: this runs for every token. */
  private chunk(candidates: readonly JsonObject[]): string {
    const chunk: GeminiDraft = {}
    if (candidates.length > 0) chunk.candidates = candidates
    if (this.usage) chunk.usageMetadata = encodeUsage(this.usage)
    chunk.modelVersion = this.context.model
    chunk.responseId = this.context.id
    const { ownMembers } = this
    this.usage = undefined
    this.ownMembers = undefined
    return this.frameChunk(ownMembers ? { ...chunk, ...ownMembers } : chunk)
  }

  private frameChunk(chunk: JsonObject): string {
    const text = encodeByteText(JSON.stringify(chunk))
    const first = !this.begun
    this.begun = true
    if (this.context.framing === "events") return `data: ${text}\n\n`
    return (first ? "[" : ",\n") + text
  }
}
