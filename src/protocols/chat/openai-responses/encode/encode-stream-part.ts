// Parts of an encoded stream: their known content, and how much of that is written. A part is written when its turn
// comes; its content so far is sent at once, the rest as it arrives.

import type { TokenLogprob } from "../../../../canonical/chat/chat-response.ts"
import type { Citation } from "../../../../canonical/chat/content-part.ts"
import { encloseSeal, type SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { dropped } from "../../../losses.ts"
import { encodeAnnotation } from "../citations.ts"
import { encodeLogprobs } from "../logprobs.ts"
import {
  type ContentPosition,
  createDeltaTemplate,
  type DeltaTemplate,
  type ItemPosition,
  type ItemStatus,
  type OutputBuilder,
} from "./encode-stream-output.ts"

/** A part's position in the response, for losses and missing ids. */
export interface PartEncoderContext {
  readonly output: OutputBuilder
  readonly number: number
}

export abstract class StreamPartEncoder {
  ended = false
  protected pending = ""
  protected sealed: SealedContent | undefined
  protected status: ItemStatus = "completed"

  constructor(protected readonly encodeContext: PartEncoderContext) {}

  /** True if there is something to write. */
  abstract readonly isVisible: boolean
  /** True if it is only a seal. */
  get isHidden(): boolean {
    return false
  }
  /** Writes what is known and not yet written. */
  abstract write(): void

  grow(text: string): void {
    this.pending += text
  }

  cite(_: Citation): void {}

  end(sealed: SealedContent | undefined, status: ItemStatus): void {
    this.ended = true
    this.sealed = sealed
    this.status = status
  }

  protected lose(what: string): void {
    const { output, number } = this.encodeContext
    output.context.losses.push(dropped.hint(`output[${number}]`, `the responses interface has no place for ${what}`))
  }
}

/** Text, or that it is refused: a part of a message. */
export class TextPartEncoder extends StreamPartEncoder {
  private text = ""
  private place: ContentPosition | undefined
  private around: DeltaTemplate | undefined
  private cited: Citation[] = []
  private readonly annotations: JsonObject[] = []
  private tokens: TokenLogprob[] = []
  private readonly sentTokens: TokenLogprob[] = []

  constructor(
    private readonly kind: "text" | "refusal",
    encodeContext: PartEncoderContext,
  ) {
    super(encodeContext)
  }

  get isVisible(): boolean {
    return this.pending !== "" || this.cited.length > 0 || this.place !== undefined
  }

  override cite(citation: Citation): void {
    if (this.kind === "text") this.cited.push(citation)
  }

  likely(tokens: readonly TokenLogprob[]): void {
    this.tokens.push(...tokens)
  }

  write(): void {
    this.begin()
    const { wire } = this.encodeContext.output
    if (this.pending !== "" && this.around) {
      wire.grow(this.around, this.pending)
      this.text += this.pending
      this.pending = ""
    }
    if (this.cited.length > 0) this.annotate()
    if (this.tokens.length > 0) {
      const logprobs = encodeLogprobs(this.tokens)
      wire.emit("response.output_text.delta", { ...this.at(), delta: "", logprobs })
      this.sentTokens.push(...this.tokens.splice(0))
    }
    if (this.ended) this.finish()
  }

  private begin(): void {
    if (this.place) return
    const { output } = this.encodeContext
    this.place = output.contentPosition()
    const type = this.kind === "text" ? "response.output_text.delta" : "response.refusal.delta"
    this.around = createDeltaTemplate(type, this.place, `"content_index":${this.place.content},`)
    output.wire.emit("response.content_part.added", { ...this.at(), part: this.part() })
  }

  private at(): JsonObject {
    const { place } = this
    return { item_id: place?.id ?? "", output_index: place?.index ?? 0, content_index: place?.content ?? 0 }
  }

  private part(): JsonObject {
    if (this.kind === "refusal") return { type: "refusal", refusal: this.text }
    const { text, annotations } = this
    return { type: "output_text", text, annotations: [...annotations], logprobs: encodeLogprobs(this.sentTokens) }
  }

  /** Citations for the whole text wait until it is complete. */
  private annotate(): void {
    const isKnown = ({ end }: Citation) => this.ended || end !== undefined
    const known = this.cited.filter(isKnown)
    this.cited = this.cited.filter((citation) => !isKnown(citation))
    for (const citation of known) {
      const annotation = encodeAnnotation(citation, this.text.length)
      if (!annotation) {
        this.lose("a citation without a URL")
        continue
      }
      const annotation_index = this.annotations.push(annotation) - 1
      const event = { ...this.at(), annotation_index, annotation }
      this.encodeContext.output.wire.emit("response.output_text.annotation.added", event)
    }
  }

  private finish(): void {
    const { output } = this.encodeContext
    const part = this.part()
    if (this.kind === "text") {
      const { text, logprobs } = part
      output.wire.emit("response.output_text.done", { ...this.at(), text: text ?? "", logprobs: logprobs ?? [] })
    } else output.wire.emit("response.refusal.done", { ...this.at(), refusal: this.text })
    output.wire.emit("response.content_part.done", { ...this.at(), part })
    output.addContent(part)
  }
}

/** The events of the two forms of reasoning. */
const THOUGHTS = {
  summary: {
    part: "response.reasoning_summary_part",
    text: "response.reasoning_summary_text",
    index: "summary_index",
    type: "summary_text",
  },
  full: {
    part: "response.content_part",
    text: "response.reasoning_text",
    index: "content_index",
    type: "reasoning_text",
  },
} as const

/** Reasoning: an item with the seal in its opaque member. */
export class ReasoningPartEncoder extends StreamPartEncoder {
  private text = ""
  private place: ItemPosition | undefined
  private around: DeltaTemplate | undefined
  private readonly words

  constructor(
    private readonly form: "summary" | "full",
    encodeContext: PartEncoderContext,
  ) {
    super(encodeContext)
    this.words = THOUGHTS[form]
  }

  get isVisible(): boolean {
    return this.pending !== "" || this.sealed !== undefined || this.place !== undefined
  }

  override get isHidden(): boolean {
    return this.ended && this.place === undefined && this.pending === ""
  }

  write(): void {
    const { output } = this.encodeContext
    if (!this.place) {
      this.place = output.place("rs")
      output.begin(this.place, { id: this.place.id, type: "reasoning", summary: [] })
    }
    if (this.pending !== "") this.flushText()
    if (this.ended) this.finish(this.place)
  }

  private flushText(): void {
    const { wire } = this.encodeContext.output
    const { part, text, index, type } = this.words
    if (!this.around && this.place) {
      wire.emit(`${part}.added`, { ...this.at(), part: { type, text: "" } })
      this.around = createDeltaTemplate(`${text}.delta`, this.place, `"${index}":0,`)
    }
    if (this.around) wire.grow(this.around, this.pending)
    this.text += this.pending
    this.pending = ""
  }

  private at(): JsonObject {
    return { item_id: this.place?.id ?? "", output_index: this.place?.index ?? 0, [this.words.index]: 0 }
  }

  private finish(place: ItemPosition): void {
    const { output } = this.encodeContext
    const { part, text, type } = this.words
    const content = this.around ? [{ type, text: this.text }] : []
    if (this.around) {
      output.wire.emit(`${text}.done`, { ...this.at(), text: this.text })
      output.wire.emit(`${part}.done`, { ...this.at(), part: { type, text: this.text } })
    }
    const isFull = this.form === "full"
    output.end(place, {
      id: place.id,
      type: "reasoning",
      summary: isFull ? [] : content,
      ...(isFull && content.length > 0 && { content }),
      ...(this.sealed && { encrypted_content: encloseSeal(this.sealed) }),
    })
  }
}
