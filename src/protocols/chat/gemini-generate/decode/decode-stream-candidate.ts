// Decodes one candidate's parts into events as they arrive.

import type { ContentPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { type CitedSpan, citationsIn } from "../citations.ts"
import { decodeFinish } from "../finish-reasons.ts"
import { decodeLogprobs } from "../logprobs.ts"
import { OF_PART_BEFORE, PartDecoder } from "./decode-part.ts"
import { PartialArguments } from "./decode-stream-arguments.ts"

type TextPartKind = "text" | "reasoning"

/** Thoughts are always summaries. */
const STARTS: Readonly<Record<TextPartKind, PartStart>> = {
  text: { kind: "text" },
  reasoning: { kind: "reasoning", form: "summary" },
}

/** An observer needs no ids, and the minter is known. */
const OBSERVING: UpstreamResponseContext = { id: "", minter: "google" }

interface PartialCall {
  readonly part: number
  readonly args: PartialArguments
  sealed: SealedContent | undefined
}

export class GeminiCandidateDecoder {
  ended = false
  private blocked = false
  /** The finish reason, if it has arrived. */
  private word: string | undefined
  private parts = 0
  private calledTools = false
  /** The part that grows by text. */
  private open: { readonly part: number; readonly kind: TextPartKind; readonly from: number; text: string } | undefined
  /** The call whose arguments arrive in pieces. */
  private call: PartialCall | undefined
  /** A seal that follows the open part, held back so that citations still find that open. */
  private seal: SealedContent | undefined
  /** Bytes of visible text before the open part. */
  private bytes = 0
  private readonly cited = new Set<string>()
  private readonly decoder: PartDecoder
  private readonly minter: string

  /** Without a context it only observes: no citations and no log probabilities. */
  constructor(
    private readonly index: number,
    private readonly context?: UpstreamResponseContext,
  ) {
    const { id, minter } = context ?? OBSERVING
    this.minter = minter
    this.decoder = new PartDecoder({
      mintId: (nth) => (id === "" ? "" : `call_${id}_${index}_${nth}`),
      seal: (data) => ({ mintedBy: minter, data }),
    })
  }

  grow(wire: JsonObject, events: StreamEvent[]): void {
    const { content, finishReason } = wire
    if (isObject(content) && Array.isArray(content.parts)) {
      for (const part of content.parts) if (isObject(part)) this.take(part, events)
    }
    if (this.context) this.emitMetadata(wire, events)
    if (typeof finishReason !== "string" || finishReason === "FINISH_REASON_UNSPECIFIED") return
    this.endOpen(events)
    // If the vendor runs tools itself, content may follow a first reason: the last one counts and is reported last.
    if (this.context && !this.blocked) this.word = finishReason
    else if (!this.ended) this.emitEnd(finishReason, events)
    this.ended = true
  }

  private emitEnd(word: string, events: StreamEvent[]): void {
    const finish = decodeFinish(word, { calledTools: this.calledTools })
    events.push({ type: "candidate-end", candidate: this.index, finish })
  }

  /** The prompt was blocked, so there will be no response. */
  block(reason: string, events: StreamEvent[]): void {
    if (this.ended) return
    this.endOpen(events)
    this.ended = true
    this.blocked = true
    events.push({ type: "candidate-end", candidate: this.index, finish: { reason: "filtered", word: reason } })
  }

  /** Ends open parts and reports the finish reason, if known. */
  close(events: StreamEvent[]): void {
    this.endOpen(events)
    if (this.word !== undefined) this.emitEnd(this.word, events)
    this.word = undefined
  }

  /** Nearly all parts are text and take this short path. */
  private take(part: JsonObject, events: StreamEvent[]): void {
    const { text, thought, thoughtSignature: signature } = part
    if (typeof text !== "string") {
      this.takeOther(part, events)
      return
    }
    const sealed = typeof signature === "string" && signature !== "" ? this.sealedBy(signature) : undefined
    if (thought === true) this.growTextPart({ kind: "reasoning", text, sealed }, events)
    else if (!sealed) this.growTextPart({ kind: "text", text, sealed }, events)
    else {
      this.growTextPart({ kind: "text", text, sealed: undefined }, events)
      this.sealAfter(text === "" ? sealed : { ...sealed, data: OF_PART_BEFORE + sealed.data }, events)
    }
  }

  private takeOther(part: JsonObject, events: StreamEvent[]): void {
    const { functionCall } = part
    if (isObject(functionCall) && this.takeBit(functionCall, part.thoughtSignature, events)) return
    for (const each of this.decoder.part(part)) {
      if (each.kind === "reasoning" && each.form === "hidden" && each.sealed) this.sealAfter(each.sealed, events)
      else this.whole(each, events)
    }
  }

  private growTextPart(
    { kind, text, sealed }: { kind: TextPartKind; text: string; sealed: SealedContent | undefined },
    events: StreamEvent[],
  ) {
    if (text === "" && !sealed) return
    if (this.open?.kind !== kind || this.seal) {
      this.endOpen(events)
      this.open = { part: this.start(STARTS[kind], events), kind, from: this.bytes, text: "" }
    }
    if (text !== "") events.push({ type: "part-delta", candidate: this.index, part: this.open.part, text })
    // Only spans of citations need it, so an observer does not keep it.
    if (this.context && kind === "text") this.open.text += text
    if (sealed) this.endOpen(events, sealed)
  }

  private sealAfter(sealed: SealedContent, events: StreamEvent[]): void {
    if (this.seal || this.open?.kind !== "text") this.endOpen(events)
    this.seal = sealed
  }

  private whole(part: ContentPart, events: StreamEvent[]): void {
    this.endOpen(events)
    if (part.kind === "tool-call") this.emitCall(part, events)
    else if (part.kind === "media" || part.kind === "foreign" || part.kind === "tool-result") {
      const number = this.start({ kind: "whole", part }, events)
      events.push({ type: "part-end", candidate: this.index, part: number })
    }
  }

  /** Most calls arrive whole. */
  private emitCall({ id, name, runsAt, arguments: text, sealed }: ToolCallPart, events: StreamEvent[]): void {
    this.calledTools ||= runsAt === "client"
    const candidate = this.index
    const part = this.start({ kind: "tool-call", id, name, runsAt, ...(sealed && { sealed }) }, events)
    events.push({ type: "part-delta", candidate, part, text })
    events.push({ type: "part-end", candidate, part, ...(sealed && { sealed }) })
  }

  /** True if the call arrives in pieces: a name, then arguments, then an empty end. */
  private takeBit(call: JsonObject, signature: Json | undefined, events: StreamEvent[]): boolean {
    const { name, args, willContinue, partialArgs } = call
    const begins = typeof name === "string" && willContinue === true && args === undefined
    if (!begins && (typeof name === "string" || !this.call)) return false
    if (begins) {
      this.endOpen(events)
      this.calledTools = true
      const [begun] = this.decoder.part({ functionCall: call })
      const id = begun?.kind === "tool-call" ? begun.id : ""
      const isSigned = typeof signature === "string" && signature !== ""
      const seal = isSigned ? { sealed: this.sealedBy(signature) } : {}
      const part = this.start({ kind: "tool-call", id, name, runsAt: "client", ...seal }, events)
      this.call = { part, args: new PartialArguments(), sealed: undefined }
    }
    if (this.call && typeof signature === "string" && signature !== "") this.call.sealed = this.sealedBy(signature)
    this.call?.args.take(partialArgs)
    if (willContinue !== true) this.endOpen(events)
    return true
  }

  private emitMetadata(wire: JsonObject, events: StreamEvent[]): void {
    for (const cited of citationsIn(wire)) this.cite(cited, events)
    const tokens = decodeLogprobs(wire.logprobsResult)
    if (tokens.length > 0) events.push({ type: "logprobs", candidate: this.index, tokens })
  }

  /** Each citation is repeated in later events but reported once. A span in a part that has ended is not reported. */
  private cite({ citation, startByte, endByte }: CitedSpan, events: StreamEvent[]): void {
    const { open } = this
    const key = JSON.stringify([citation, startByte, endByte])
    if (open?.kind !== "text" || this.cited.has(key)) return
    this.cited.add(key)
    const bytes = startByte === undefined ? undefined : Buffer.from(open.text)
    const unit = (byte: number) => bytes?.subarray(0, byte - open.from).toString().length ?? 0
    const inside = bytes && startByte !== undefined && endByte !== undefined
    const fits = inside && startByte >= open.from && endByte - open.from <= bytes.length
    const span = fits ? { start: unit(startByte), end: unit(endByte) } : {}
    events.push({ type: "part-cite", candidate: this.index, part: open.part, citation: { ...citation, ...span } })
  }

  private start(start: PartStart, events: StreamEvent[]): number {
    const part = this.parts++
    events.push({ type: "part-start", candidate: this.index, part, start })
    return part
  }

  private endOpen(events: StreamEvent[], sealed?: SealedContent): void {
    const { open, call, seal } = this
    const candidate = this.index
    if (open) {
      events.push({ type: "part-end", candidate, part: open.part, ...(sealed && { sealed }) })
      if (open.text !== "") this.bytes += Buffer.byteLength(open.text)
    }
    if (call) {
      events.push({ type: "part-delta", candidate, part: call.part, text: call.args.json() })
      events.push({ type: "part-end", candidate, part: call.part, ...(call.sealed && { sealed: call.sealed }) })
    }
    this.open = undefined
    this.call = undefined
    this.seal = undefined
    if (seal) events.push({ type: "part-end", candidate, part: this.start(HIDDEN, events), sealed: seal })
  }

  private sealedBy(data: string): SealedContent {
    return { mintedBy: this.minter, data }
  }
}

const HIDDEN: PartStart = { kind: "reasoning", form: "hidden" }

/** A candidate's members other than content and end; undefined if there are none. */
export function foreignCandidateMembers({
  content: _content,
  finishReason: _finish,
  index: _index,
  ...others
}: JsonObject): JsonObject | undefined {
  return Object.keys(others).length === 0 ? undefined : others
}
