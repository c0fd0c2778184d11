// One candidate of a stream as it is written for clients: its parts one after the other, then its end.

import type { CandidateFinish, TokenLogprob } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { GroundingEncoder } from "../citations.ts"
import { encodeFinish } from "../finish-reasons.ts"
import { encodeLogprobs } from "../logprobs.ts"
import type { PartEncoder } from "./encode-part.ts"
import { answerParts } from "./encode-response-common.ts"

export type CandidateEvent = Extract<StreamEvent, { candidate: number }>

interface PendingPart {
  readonly start: PartStart
  /** Text that has arrived and is not yet written. */
  text: string
  sealed?: SealedContent | undefined
  ended: boolean
}

type CitationEvent = Extract<StreamEvent, { type: "part-cite" }>

/** One candidate as it is written: a part at a time, then its end. */
export class GeminiCandidateEncoder {
  ended = false
  /** In the order they began; the first is being written. */
  private readonly parts = new Map<number, PendingPart>()
  private readonly encoder: PartEncoder
  private readonly cites: CitationEvent[] = []
  /** The visible text that is written, part by part: spans of citations count in it. */
  private readonly texts = new Map<number, { readonly before: string; text: string }>()
  private visible = ""
  private ownMembers: JsonObject | undefined
  private tokens: TokenLogprob[] = []
  private finish: CandidateFinish | undefined
  private calls = false

  constructor(
    private readonly index: number,
    private readonly context: ClientResponseContext,
  ) {
    this.encoder = answerParts(context)
  }

  addMembers(members: JsonObject): void {
    this.ownMembers = { ...this.ownMembers, ...members }
  }

  /** The candidates to write, one to a chunk. */
  take(event: CandidateEvent): JsonObject[] {
    switch (event.type) {
      case "part-start":
        return this.begin(event)
      case "part-delta":
        return this.grow(event.part, event.text)
      case "part-cite":
        this.cites.push(event)
        return []
      case "part-end":
        return this.close(event)
      case "logprobs":
        this.tokens.push(...event.tokens)
        return []
      case "candidate-end":
        return this.end(event)
    }
  }

  private begin({ part: number, start }: Extract<StreamEvent, { type: "part-start" }>): JsonObject[] {
    if (this.parts.has(number)) return []
    if (start.kind === "refusal") {
      const why = "Gemini has no refusals; the refusal is sent as text."
      this.context.losses.push({ path: this.place(number), weight: "hint", how: "approximated", why })
    }
    if (start.kind === "tool-call" && start.runsAt === "client") this.calls = true
    this.parts.set(number, { start, text: "", ended: start.kind === "whole" })
    return start.kind === "whole" && this.isFirst(number) ? this.flush() : []
  }

  private grow(number: number, text: string): JsonObject[] {
    const part = this.parts.get(number)
    if (!part || part.ended || text === "") return []
    if (growsByText(part.start) && this.isFirst(number)) return [this.encodeTextDelta(number, part.start, text)]
    part.text += text
    return []
  }

  private close({ part: number, sealed }: Extract<StreamEvent, { type: "part-end" }>): JsonObject[] {
    const part = this.parts.get(number)
    if (!part || part.ended) return []
    part.ended = true
    part.sealed = sealed
    return this.isFirst(number) ? this.flush() : []
  }

  private end({ finish }: Extract<StreamEvent, { type: "candidate-end" }>): JsonObject[] {
    this.ended = true
    this.finish = finish
    return this.rest()
  }

  /** Writes held-back parts when no more events will come. */
  rest(): JsonObject[] {
    for (const part of this.parts.values()) part.ended = true
    return this.flush()
  }

  last(): JsonObject {
    const finishReason = encodeFinish(this.finish, { calls: this.calls, losses: this.context.losses })
    return this.encodeContent([{ text: "" }], { finishReason, ...this.encodeGrounding() })
  }

  private encodeGrounding(): JsonObject {
    const grounding = new GroundingEncoder()
    for (const { part, citation } of this.cites) {
      grounding.add(citation, this.texts.get(part) ?? { before: this.visible, text: "" })
    }
    const groundingMetadata = grounding.metadata()
    return groundingMetadata ? { groundingMetadata } : {}
  }

  private isFirst(number: number): boolean {
    for (const first of this.parts.keys()) return first === number
    return false
  }

  /** Writes the rest of the first part, and of the next ones if those before them have ended. */
  private flush(): JsonObject[] {
    const written: JsonObject[] = []
    for (const [number, part] of this.parts) {
      if (growsByText(part.start) && part.text !== "") written.push(this.encodeTextDelta(number, part.start, part.text))
      if (!part.ended) {
        if (growsByText(part.start)) part.text = ""
        break
      }
      const rest = growsByText(part.start) ? { ...part, text: "" } : part
      const wire = this.encoder.encode([partOf(rest)], this.place(number))
      if (wire.length > 0) written.push(this.encodeContent(wire))
      this.parts.delete(number)
    }
    return written
  }

  /** The common case of a stream: a text delta. */
  private encodeTextDelta(number: number, start: PartStart, text: string): JsonObject {
    if (start.kind === "reasoning") return this.encodeContent([{ text, thought: true }])
    const known = this.texts.get(number)
    if (known) known.text += text
    else this.texts.set(number, { before: this.visible, text })
    this.visible += text
    return this.encodeContent([{ text }])
  }

  private place(number: number): string {
    return `candidates[${this.index}].content.parts[${number}]`
  }

  private encodeContent(parts: readonly JsonObject[], more?: JsonObject): JsonObject {
    const { ownMembers, tokens } = this
    const wire = { content: { parts, role: "model" }, index: this.index }
    if (!more && !ownMembers && tokens.length === 0) return wire
    this.ownMembers = undefined
    this.tokens = []
    const likely = tokens.length === 0 ? {} : { logprobsResult: encodeLogprobs(tokens) }
    return { ...wire, ...more, ...likely, ...ownMembers }
  }
}

/** True for parts that may be written in pieces. A call must be complete. */
function growsByText({ kind }: PartStart): boolean {
  return kind === "text" || kind === "refusal" || kind === "reasoning"
}

function partOf({ start, text, sealed }: PendingPart): ContentPart {
  const seal = sealed && { sealed }
  if (start.kind === "whole") return start.part
  if (start.kind === "tool-call") return { ...start, arguments: text, ...seal }
  if (start.kind === "reasoning") return { ...start, text, ...seal }
  return { kind: "text", text }
}
