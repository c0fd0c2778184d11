// Encodes a stream of chat completions chunks. Parts may grow in parallel in this protocol, so each event is sent at
// once. The first delta of a choice always has its role, calls are numbered, and each choice and the stream end once.

import type { CandidateFinish } from "../../../../canonical/chat/chat-response.ts"
import type { Citation } from "../../../../canonical/chat/content-part.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { Json } from "../../../../canonical/json.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import { encodeByteText } from "../../../../transport/json/byte-text.ts"
import { asciiJson } from "../../../../transport/json/json-splice.ts"
import type { ClientResponseContext, StreamWriter } from "../../../chat-codec.ts"
import { dropped, foreignPaths } from "../../../losses.ts"
import { encodeAnnotation } from "../citations.ts"
import { DONE } from "../decode/decode-stream.ts"
import { errorFrame } from "../errors.ts"
import { encodeFinish, reportFinish } from "../finish-reasons.ts"
import { encodeLogprobs } from "../logprobs.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { encodeUsage } from "../usage.ts"
import {
  BETWEEN_THOUGHTS,
  callId,
  completionId,
  mediaMember,
  ONE_CALL,
  reportPart,
  requestsLegacy,
  unsupportedReason,
} from "./encode-response-common.ts"

export function encodeStream(context: ClientResponseContext): StreamWriter {
  return new ChatStreamEncoder(context)
}

/** One part of a choice, with the JSON around its deltas. */
interface OpenChatPart {
  /** The JSON before and after its text; undefined for parts that are not written. */
  readonly around: readonly [before: string, after: string] | undefined
  readonly kind: PartStart["kind"]
  /** The start of its text in the text of the choice. */
  readonly start: number
  grown: boolean
  /** Citations for its whole text, which is not complete yet. */
  readonly cited: Citation[]
}

interface OpenChoice {
  readonly parts: Map<number, OpenChatPart>
  textLength: number
  calls: number
  thought: boolean
  refused: boolean
  ended: boolean
}

class ChatStreamEncoder implements StreamWriter {
  readonly errorFrame = errorFrame
  private readonly choices = new Map<number, OpenChoice>()
  private head = ""
  private readonly tail: string
  private calls = 0
  private usage: Usage | undefined
  private ended = false
  private readonly lost = new Set<string>()
  private readonly isLegacy: boolean

  constructor(private readonly context: ClientResponseContext) {
    this.isLegacy = requestsLegacy(context)
    // OpenAI's own chunks have this member if usage was requested.
    this.tail = context.usageRequested ? `],"usage":null}\n\n` : "]}\n\n"
  }

  push(event: StreamEvent): string[] {
    if (this.ended || event.type === "stream-error") return []
    const out: string[] = []
    if (event.type === "part-delta") this.grow(event, out)
    else if (event.type === "stream-start") this.open(event, out)
    else if (event.type === "usage") this.usage = event.usage
    else if (event.type === "stream-end") this.end(out)
    else if (event.type === "foreign") this.loseForeign(event)
    else this.encodeEvent(event, out)
    return out
  }

  /** A stream that stops early gets no end. */
  finish(): string[] {
    return []
  }

  private loseForeign({ protocol, value }: Extract<StreamEvent, { type: "foreign" }>): void {
    if (protocol === PROTOCOL) return
    for (const path of foreignPaths(value)) {
      if (this.lost.has(path)) continue
      this.lost.add(path)
      this.context.losses.push(dropped.hint(path, `only ${protocol} has this`))
    }
  }

  private open({ id, created }: Extract<StreamEvent, { type: "stream-start" }>, out: string[]): void {
    if (this.head !== "") return
    this.setHead(id, created)
    this.choiceOf(0, out)
  }

  private setHead(id?: string, created = this.context.unixTime): void {
    const named = asciiJson(completionId(id, this.context))
    const model = asciiJson(this.context.model)
    const head = `{"id":${named},"object":"chat.completion.chunk","created":${created},"model":${model},"choices":[`
    this.head = `data: ${head}`
  }

  private encodeEvent(event: Extract<StreamEvent, { candidate: number }>, out: string[]): void {
    const choice = this.choiceOf(event.candidate, out)
    if (choice.ended) return
    if (event.type === "part-start") this.start(event, choice, out)
    else if (event.type === "part-cite") this.cite(event, choice, out)
    else if (event.type === "part-end") this.endPart(event, choice, out)
    else if (event.type === "logprobs") out.push(this.logprobs(event))
    else if (event.type === "candidate-end") this.endChoice(event.candidate, choice, event.finish, out)
  }

  private grow({ candidate, part, text }: Extract<StreamEvent, { type: "part-delta" }>, out: string[]): void {
    const choice = this.choices.get(candidate)
    const open = choice?.parts.get(part)
    if (!choice || choice.ended || !open?.around || text === "") return
    let content = text
    if (open.kind === "text") choice.textLength += text.length
    if (open.kind === "reasoning" && !open.grown) {
      if (choice.thought) content = BETWEEN_THOUGHTS + text
      choice.thought = true
    }
    open.grown = true
    if (open.kind === "refusal") choice.refused = true
    const [before, after] = open.around
    out.push(before + encodeByteText(JSON.stringify(content)) + after)
  }

  private start(event: Extract<StreamEvent, { type: "part-start" }>, choice: OpenChoice, out: string[]): void {
    const { candidate, part, start } = event
    const open = { kind: start.kind, start: choice.textLength, grown: false, cited: [] }
    const subject = start.kind === "whole" ? start.part : start
    const what = unsupportedReason(subject)
    const place = { path: `candidates[${candidate}].parts[${part}]`, losses: this.context.losses }
    if (what !== undefined) reportPart(what, place)
    if (start.kind === "whole") {
      const member =
        what === undefined && start.part.kind === "media" ? mediaMember(start.part, this.context) : undefined
      if (member) out.push(this.delta(candidate, member as { [name: string]: Json }))
      else if (what === undefined) reportPart("media at such an address", place)
    }
    let around: OpenChatPart["around"]
    if (start.kind === "tool-call" && what === undefined) around = this.call(candidate, choice, start, out)
    else if (start.kind !== "whole" && start.kind !== "tool-call")
      around = this.around(candidate, MEMBERS[start.kind], "}")
    choice.parts.set(part, { ...open, around })
  }

  private call(candidate: number, choice: OpenChoice, start: Extract<PartStart, { kind: "tool-call" }>, out: string[]) {
    const index = choice.calls++
    if (this.isLegacy) return this.legacyCall(candidate, { index, name: start.name }, out)
    const id = callId(start.id, { context: this.context, index: this.calls++ })
    const { name } = start
    const called: Json =
      start.input === "text"
        ? { index, id, type: "custom", custom: { name, input: "" } }
        : { index, id, type: "function", function: { name, arguments: "" } }
    out.push(this.delta(candidate, { tool_calls: [called] }))
    const inner = start.input === "text" ? `"custom":{"input":` : `"function":{"arguments":`
    return this.around(candidate, `"tool_calls":[{"index":${index},${inner}`, "}}]}")
  }

  /** The older form has one call, and no id for it. */
  private legacyCall(candidate: number, { index, name }: { index: number; name: string }, out: string[]) {
    if (index > 0) {
      reportPart(ONE_CALL, { path: `candidates[${candidate}]`, losses: this.context.losses })
      return undefined
    }
    out.push(this.delta(candidate, { function_call: { name, arguments: "" } }))
    return this.around(candidate, `"function_call":{"arguments":`, "}}")
  }

  private cite(event: Extract<StreamEvent, { type: "part-cite" }>, choice: OpenChoice, out: string[]): void {
    const { candidate, part, citation } = event
    const open = choice.parts.get(part)
    if (!open) return
    if (citation.url === undefined) {
      const place = { path: `candidates[${candidate}].parts[${part}].citations`, losses: this.context.losses }
      reportPart("a citation without a URL", place)
    } else if (citation.end === undefined) open.cited.push(citation)
    else this.annotate(candidate, [encodeAnnotation(citation, { start: open.start, end: choice.textLength })], out)
  }

  private endPart({ candidate, part }: { candidate: number; part: number }, choice: OpenChoice, out: string[]): void {
    const open = choice.parts.get(part)
    if (!open) return
    choice.parts.delete(part)
    const span = { start: open.start, end: choice.textLength }
    this.annotate(
      candidate,
      open.cited.map((citation) => encodeAnnotation(citation, span)),
      out,
    )
  }

  private annotate(candidate: number, all: readonly (Json | undefined)[], out: string[]): void {
    const annotations = all.flatMap((annotation) => annotation ?? [])
    if (annotations.length > 0) out.push(this.delta(candidate, { annotations }))
  }

  private logprobs({ candidate, tokens }: Extract<StreamEvent, { type: "logprobs" }>): string {
    return this.chunk({ index: candidate, delta: {}, logprobs: encodeLogprobs(tokens), finish_reason: null })
  }

  private endChoice(index: number, choice: OpenChoice, finish: CandidateFinish | undefined, out: string[]): void {
    for (const part of [...choice.parts.keys()]) this.endPart({ candidate: index, part }, choice, out)
    choice.ended = true
    reportFinish(finish, { path: `candidates[${index}]`, losses: this.context.losses })
    const finish_reason = encodeFinish(finish, {
      isLegacy: this.isLegacy,
      ...{ hasCalls: choice.calls > 0, refused: choice.refused },
    })
    out.push(this.chunk({ index, delta: {}, logprobs: null, finish_reason }))
  }

  private end(out: string[]): void {
    if (this.choices.size === 0) this.choiceOf(0, out)
    for (const [index, choice] of this.choices) if (!choice.ended) this.endChoice(index, choice, undefined, out)
    if (this.usage && this.context.usageRequested) {
      out.push(`${this.head}],"usage":${JSON.stringify(encodeUsage(this.usage))}}\n\n`)
    }
    out.push(`data: ${DONE}\n\n`)
    this.ended = true
  }

  /** Opens a new choice with its role. */
  private choiceOf(index: number, out: string[]): OpenChoice {
    const known = this.choices.get(index)
    if (known) return known
    if (this.head === "") this.setHead()
    const parts = new Map<number, OpenChatPart>()
    const choice = { parts, textLength: 0, calls: 0, thought: false, refused: false, ended: false }
    this.choices.set(index, choice)
    out.push(this.delta(index, { role: "assistant", content: "", refusal: null }))
    return choice
  }

  private delta(index: number, delta: { [member: string]: Json }): string {
    return this.chunk({ index, delta, logprobs: null, finish_reason: null })
  }

  private chunk(choice: Json): string {
    return this.head + encodeByteText(JSON.stringify(choice)) + this.tail
  }

  /** A chunk's text but for the one string it grows by: written once for each part. */
  private around(index: number, before: string, after: string): readonly [string, string] {
    const choice = `{"index":${index},"delta":{${before}`
    return [this.head + choice, `${after},"logprobs":null,"finish_reason":null}${this.tail}`]
  }
}

const MEMBERS = { text: `"content":`, refusal: `"refusal":`, reasoning: `"reasoning_content":` } as const
