// Encodes turns as `contents`, in the order that the vendor requires.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { isNative, reportForeignFields, restorePassthrough } from "../passthrough-fields.ts"
import type { PartEncoder } from "./encode-part.ts"
import { generationOf } from "./model-generation.ts"

/** The vendor's documented value for a call without a signature. */
const NO_SIGNATURE = "skip_thought_signature_validator"

interface OpenContent {
  readonly role: "user" | "model"
  readonly results: boolean
  readonly parts: JsonObject[]
}

/** Encodes `contents` in the vendor's order: a turn's results are together, directly after its calls. */
export class ContentsEncoder {
  readonly written: JsonObject[] = []
  /** The last content, while it may grow. */
  private last: OpenContent | undefined
  /** Content that came with results, held back while further results may follow: results must be together. */
  private waiting: OpenContent | undefined

  constructor(
    private readonly encoder: PartEncoder,
    private readonly context: UpstreamRequestContext,
  ) {}

  add(turn: ConversationTurn, at: string): void {
    const { losses } = this.context
    reportForeignFields(turn.extra, { at, losses })
    if (turn.role === "instruction") {
      const why = "Gemini accepts instructions only at the beginning; this one is sent as a user message."
      losses.push({ path: at, weight: "meaning", how: "approximated", why })
    }
    const role = turn.role === "assistant" ? "model" : "user"
    const parts = this.withSignature(this.encoder.encode(turn.parts, `${at}.parts`), at)
    if (isNative(turn.at)) {
      this.asItCame(turn, { role, parts })
      return
    }
    const results = parts.filter(({ functionResponse }) => functionResponse !== undefined)
    const others = parts.filter(({ functionResponse }) => functionResponse === undefined)
    if (results.length === 0) this.finish()
    else this.grow({ role: "user", results: true, parts: results })
    if (others.length === 0) return
    if (results.length === 0) this.grow({ role, results: false, parts: others })
    else if (this.waiting) this.waiting.parts.push(...others)
    else this.waiting = { role, results: false, parts: others }
  }

  sayInstructions(parts: JsonObject[]): void {
    const why = "Gemini requires at least one message; the instructions are sent as a user message."
    this.context.losses.push({ path: "instructions", weight: "meaning", how: "approximated", why })
    this.grow({ role: "user", results: false, parts })
  }

  private asItCame(
    { parts: turnParts, extra }: ConversationTurn,
    { role, parts }: { role: "user" | "model"; parts: JsonObject[] },
  ): void {
    this.finish()
    this.last = undefined
    if (parts.length === 0 && turnParts.length > 0) return
    const named = extra?.members.role === undefined ? { role } : {}
    this.written.push(restorePassthrough({ ...named, parts }, extra))
  }

  /** Adds held-back content, when no more results follow. */
  finish(): void {
    const { waiting } = this
    this.waiting = undefined
    if (waiting) this.grow(waiting)
  }

  private grow(content: OpenContent): void {
    const { last } = this
    if (last?.role === content.role && last.results === content.results) {
      last.parts.push(...content.parts)
      return
    }
    this.last = content
    this.written.push({ role: content.role, parts: content.parts })
  }

  /** True if the last turn has calls: calls in consecutive turns were made separately. */
  private goesOn(): boolean {
    return this.last?.role === "model" && this.last.parts.some(({ functionCall }) => functionCall !== undefined)
  }

  /** Only the first of parallel calls has a signature. */
  private withSignature(parts: JsonObject[], at: string): JsonObject[] {
    if (!generationOf(this.context.model).demandsSignatures) return parts
    const first = parts.findIndex(({ functionCall }) => functionCall !== undefined)
    const call = parts[first]
    if (!call || call.thoughtSignature !== undefined || this.goesOn()) return parts
    const why = "This model requires a signature on each call; the placeholder for a missing signature is sent."
    this.context.losses.push({ path: at, weight: "hint", how: "approximated", why })
    return parts.with(first, { ...call, thoughtSignature: NO_SIGNATURE })
  }
}
