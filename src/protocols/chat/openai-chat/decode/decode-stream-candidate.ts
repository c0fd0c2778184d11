// Decodes one candidate's deltas, tracking its open parts. A whole message is one delta, so that a stream and a whole
// response decode to the same.

import type { ContentPart, MediaPart } from "../../../../canonical/chat/content-part.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { sourceOf } from "../../../openai/openai-media.ts"
import { OUTPUT_AUDIO } from "../audio-format.ts"
import { decodeAnnotations } from "../citations.ts"
import { decodeFinish } from "../finish-reasons.ts"
import { decodeLogprobs } from "../logprobs.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { sealReasoning } from "../seals.ts"
import { readReasoningDetails } from "./decode-messages.ts"
import { thoughtIn } from "./decode-part.ts"
import { ToolCallStreamDecoder } from "./decode-stream-calls.ts"
import { mergeDetails } from "./decode-stream-reasoning.ts"

interface OpenTextPart {
  readonly part: number
  readonly kind: "text" | "refusal" | "reasoning"
  /** For reasoning: its member and details. */
  readonly member?: string | undefined
  readonly details: JsonObject[]
}

interface ReasoningDelta {
  readonly text: string
  readonly member?: string
  readonly details?: readonly Json[]
}

export class ChatCandidateDecoder {
  ended = false
  private parts = 0
  private open: OpenTextPart | undefined
  private readonly calls: ToolCallStreamDecoder
  private refused = false
  private readonly audioPieces: Buffer[] = []

  /** Without a context, as the relay's observer, it skips what that does not need. */
  constructor(
    private readonly index: number,
    private readonly context?: UpstreamResponseContext,
  ) {
    this.calls = new ToolCallStreamDecoder(index, context, (start, events) => this.start(start, events))
  }

  grow({ delta, finish_reason, logprobs, stop_reason }: JsonObject, events: StreamEvent[]): void {
    if (this.ended) return
    if (isObject(delta)) this.readDelta(delta, events)
    if (this.context && logprobs !== undefined && logprobs !== null) {
      const tokens = decodeLogprobs(logprobs)
      if (tokens.length > 0) events.push({ type: "logprobs", candidate: this.index, tokens })
    }
    // Some hosts send an empty reason until there is one.
    if (typeof finish_reason !== "string" || finish_reason === "") return
    this.endParts(events)
    this.ended = true
    const { hasCalls } = this.calls
    const finish = decodeFinish(finish_reason, { hasCalls, refused: this.refused, stopReason: stop_reason })
    events.push({ type: "candidate-end", candidate: this.index, finish })
  }

  endParts(events: StreamEvent[]): void {
    this.endText(events)
    this.calls.end(events)
    if (this.audioPieces.length === 0) return
    const base64 = Buffer.concat(this.audioPieces.splice(0)).toString("base64")
    const source = { at: "inline", mediaType: OUTPUT_AUDIO.mediaType, base64 } as const
    this.whole({ kind: "media", media: "audio", source }, events)
  }

  private readDelta(delta: JsonObject, events: StreamEvent[]): void {
    this.readReasoning(delta, events)
    if (delta.executed_tools !== undefined && this.context) {
      this.endText(events)
      this.calls.decodeHostedRuns(delta.executed_tools, events)
    }
    if (typeof delta.content === "string") this.text("text", delta.content, events)
    else if (Array.isArray(delta.content)) for (const piece of delta.content) this.piece(piece, events)
    this.text("refusal", delta.refusal, events)
    if (delta.audio !== undefined) this.appendAudio(delta.audio, events)
    if (delta.annotations !== undefined) this.cite(delta.annotations, events)
    if (Array.isArray(delta.images) && this.context) for (const image of delta.images) this.picture(image, events)
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0) {
      this.endText(events)
      this.calls.grow(delta.tool_calls, events)
    }
    if (isObject(delta.function_call)) this.calls.legacy(delta.function_call, events)
  }

  /** `reasoning_content` is DeepSeek's and most hosts' name, `reasoning` OpenRouter's and Groq's; some send both. */
  private readReasoning({ reasoning_content, reasoning, reasoning_details }: JsonObject, events: StreamEvent[]): void {
    const details = Array.isArray(reasoning_details) && reasoning_details.length > 0 ? reasoning_details : undefined
    if (typeof reasoning_content === "string" && reasoning_content !== "") {
      this.thought({ text: reasoning_content, member: "reasoning_content", ...(details && { details }) }, events)
    } else if (typeof reasoning === "string" && reasoning !== "") {
      this.thought({ text: reasoning, member: "reasoning", ...(details && { details }) }, events)
    } else if (details) this.thought({ text: readReasoningDetails(details).joined, details }, events)
  }

  private thought({ text, member, details = [] }: ReasoningDelta, events: StreamEvent[]): void {
    if (text === "" && !this.context) return
    if (this.open?.kind !== "reasoning") {
      this.endText(events)
      const { form } = readReasoningDetails(details)
      const part = this.start({ kind: "reasoning", form: text !== "" && form === "hidden" ? "full" : form }, events)
      this.open = { part, kind: "reasoning", member, details: [] }
    }
    if (this.context && details.length > 0) mergeDetails(this.open.details, details)
    if (text !== "") events.push({ type: "part-delta", candidate: this.index, part: this.open.part, text })
  }

  private text(kind: "text" | "refusal", value: Json | undefined, events: StreamEvent[]): void {
    if (typeof value !== "string" || value === "") return
    if (this.open?.kind !== kind) {
      this.endText(events)
      this.open = { part: this.start({ kind }, events), kind, details: [] }
      if (kind === "refusal") this.refused = true
    }
    events.push({ type: "part-delta", candidate: this.index, part: this.open.part, text: value })
  }

  /** Mistral's content may be a list that also contains reasoning. */
  private piece(piece: Json, events: StreamEvent[]): void {
    if (!isObject(piece)) return
    const thought = thoughtIn(piece)
    if (thought !== undefined) this.thought({ text: thought, member: "thinking" }, events)
    else if (piece.type === "text") this.text("text", piece.text, events)
    else if (this.context) {
      this.endText(events)
      this.whole({ kind: "foreign", protocol: PROTOCOL, value: piece }, events)
    }
  }

  private cite(annotations: Json, events: StreamEvent[]): void {
    if (!this.context) return
    for (const citation of decodeAnnotations(annotations)) {
      if (this.open?.kind !== "text") {
        this.endText(events)
        this.open = { part: this.start({ kind: "text" }, events), kind: "text", details: [] }
      }
      events.push({ type: "part-cite", candidate: this.index, part: this.open.part, citation })
    }
  }

  /**
   * Audio comes with a transcript. It is collected, because a part that does not grow is reported when it is complete.
   */
  private appendAudio(audio: Json, events: StreamEvent[]): void {
    if (!isObject(audio)) return
    this.text("text", audio.transcript, events)
    if (this.context && typeof audio.data === "string" && audio.data !== "") {
      this.audioPieces.push(Buffer.from(audio.data, "base64"))
    }
  }

  /** OpenRouter's member for generated images. */
  private picture(image: Json, events: StreamEvent[]): void {
    const url = isObject(image) && isObject(image.image_url) ? image.image_url.url : undefined
    if (typeof url !== "string") return
    this.endText(events)
    this.whole({ kind: "media", media: "image", source: sourceOf(url) }, events)
  }

  private whole(part: MediaPart | Extract<ContentPart, { kind: "foreign" }>, events: StreamEvent[]): void {
    const started = this.start({ kind: "whole", part }, events)
    events.push({ type: "part-end", candidate: this.index, part: started })
  }

  private start(start: PartStart, events: StreamEvent[]): number {
    const part = this.parts++
    events.push({ type: "part-start", candidate: this.index, part, start })
    return part
  }

  private endText(events: StreamEvent[]): void {
    if (!this.open) return
    const { part, kind, member, details } = this.open
    this.open = undefined
    const sealed =
      kind === "reasoning" && this.context
        ? sealReasoning({ ...(member !== undefined && { member }), details }, this.context.minter)
        : undefined
    events.push({ type: "part-end", candidate: this.index, part, ...(sealed && { sealed }) })
  }
}
