// One content block of an encoded stream: its known content, and how much of that is written.

import type { Citation, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { PartStart } from "../../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { approximated } from "../../../losses.ts"
import { TEXT_INPUT } from "../../../schema/tool-input.ts"
import { encodeCitation } from "../citations.ts"
import { encloseCallSeal, slotText } from "../seals.ts"
import { callOpening, reportResponseLoss, wholeBlock } from "./encode-response-common.ts"

interface BlockPosition {
  /** The part's number in the response, for losses and missing ids. */
  readonly number: number
  readonly context: ClientResponseContext
}

export class StreamedBlock {
  /** Its number on the wire, once it is its turn. */
  index: number | undefined
  ended = false
  private begun = false
  private redacted = false
  private text = ""
  private readonly citations: Citation[] = []
  private sealed: SealedContent | undefined
  /** The opening of a call or a complete part; undefined if the client cannot be shown it. */
  private readonly opening: JsonObject | undefined
  private readonly isTextCall: boolean

  constructor(
    private readonly start: PartStart,
    private readonly place: BlockPosition,
  ) {
    this.isTextCall = start.kind === "tool-call" && start.input === "text"
    this.opening = openingOf(start, place)
  }

  /** A call is visible at once; text and reasoning as soon as they have text or a seal. */
  get isVisible(): boolean {
    const { kind } = this.start
    if (kind === "tool-call" || kind === "whole") return this.opening !== undefined
    return this.text !== "" || (kind === "reasoning" && this.sealed !== undefined)
  }

  /** True if it is only a seal. */
  get isHidden(): boolean {
    const { start } = this
    return start.kind === "reasoning" && start.form === "hidden" && this.text === "" && !this.begun
  }

  grow(text: string): void {
    if (this.start.kind !== "whole") this.text += text
  }

  cite(citation: Citation): void {
    if (this.start.kind !== "text") return
    if (citation.start !== undefined) {
      const path = `content[${this.place.number}].citations`
      this.place.context.losses.push(
        approximated.hint(path, "a citation covers the whole text block in the messages protocol"),
      )
    }
    this.citations.push(citation)
  }

  end(sealed: SealedContent | undefined): void {
    this.ended = true
    this.sealed = sealed
  }

  /** Writes what is known and not yet written. */
  write(): string[] {
    const frames = this.begun ? [] : this.begin()
    if (this.text !== "") frames.push(this.delta(this.isTextCall ? JSON.stringify(this.text).slice(1, -1) : this.text))
    this.text = ""
    for (const citation of this.citations.splice(0)) {
      frames.push(this.change(`"type":"citations_delta","citation":${JSON.stringify(encodeCitation(citation))}`))
    }
    if (this.ended) frames.push(...this.stop())
    return frames
  }

  /** The seal of a call has its own block before the call; a seal that comes later has no block. */
  ahead(nextIndex: () => number): string[] {
    const id = this.opening?.id
    if (this.start.kind !== "tool-call" || !this.start.sealed || typeof id !== "string") return []
    const block = { type: "redacted_thinking", data: encloseCallSeal(id, this.start.sealed) }
    const index = nextIndex()
    return [startFrame(index, block), stopFrame(index)]
  }

  private begin(): string[] {
    this.begun = true
    const start = startFrame(this.index ?? 0, this.firstBlock())
    return this.isTextCall ? [start, this.delta(`{"${TEXT_INPUT}":"`)] : [start]
  }

  private firstBlock(): JsonObject {
    const { start } = this
    if (this.opening) return start.kind === "tool-call" ? { ...this.opening, input: {} } : this.opening
    if (start.kind !== "reasoning") return { type: "text", text: "" }
    this.redacted = start.form === "hidden" && this.text === ""
    if (this.redacted && this.sealed) return { type: "redacted_thinking", data: slotText(this.sealed) }
    return { type: "thinking", thinking: "", signature: "" }
  }

  private delta(text: string): string {
    return this.change(`${DELTAS[this.start.kind]}${JSON.stringify(text)}`)
  }

  private change(members: string): string {
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.index},"delta":{${members}}}\n\n`
  }

  private stop(): string[] {
    const stop = stopFrame(this.index ?? 0)
    if (this.isTextCall) return [this.delta('"}'), stop]
    if (this.start.kind !== "reasoning" || !this.sealed || this.redacted) return [stop]
    return [this.change(`"type":"signature_delta","signature":${JSON.stringify(slotText(this.sealed))}`), stop]
  }
}

const DELTAS: Readonly<Record<PartStart["kind"], string>> = {
  text: '"type":"text_delta","text":',
  refusal: '"type":"text_delta","text":',
  reasoning: '"type":"thinking_delta","thinking":',
  "tool-call": '"type":"input_json_delta","partial_json":',
  whole: "",
}

function openingOf(start: PartStart, { number, context }: BlockPosition): JsonObject | undefined {
  const path = `content[${number}]`
  if (start.kind === "tool-call") {
    const opening = callOpening(start as ToolCallPart, { id: context.id, number })
    if (!opening) reportResponseLoss(context, { path, what: "a tool call that another provider ran" })
    return opening
  }
  if (start.kind !== "whole") return undefined
  const { part } = start
  const block = wholeBlock(part)
  if (!block)
    reportResponseLoss(context, {
      path,
      what: part.kind === "media" ? part.media : "content that exists only in another protocol",
    })
  return block
}

function startFrame(index: number, block: JsonObject): string {
  const data = `{"type":"content_block_start","index":${index},"content_block":${JSON.stringify(block)}}`
  return `event: content_block_start\ndata: ${data}\n\n`
}

function stopFrame(index: number): string {
  return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`
}
