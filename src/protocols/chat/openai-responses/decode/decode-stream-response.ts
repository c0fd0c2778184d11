// Decodes a response's events, tracking the open parts of its items. An item that arrives whole is decoded from its
// last event, so that a stream and a whole response decode to the same.

import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { decodeAnnotation, decodeAnnotations } from "../citations.ts"
import { decodeFinish } from "../finish-reasons.ts"
import { decodeLogprobs } from "../logprobs.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { BETWEEN_THOUGHTS, sealReasoning, textsOf } from "../seals.ts"
import { decodeUsage } from "../usage.ts"
import { callIn, hostedRunIn } from "./decode-output-calls.ts"

interface OpenItemPart {
  readonly part: number
  readonly kind: PartStart["kind"]
  /** The growing text of an item, if several become one part. */
  piece: number
  grown: boolean
  ended: boolean
  cited: number
  tokens: number
}

/** Open parts by their position in an item; "" if an item has only one part. */
type OpenItemParts = Map<string, OpenItemPart>

interface CompletedCall {
  readonly call: Extract<PartStart, { kind: "tool-call" }>
  readonly open: OpenItemPart
}

export class ResponsesStreamDecoder {
  ended = false
  private started = false
  private parts = 0
  private calledTools = false
  private refused = false
  private readonly items = new Map<number, OpenItemParts>()
  /** The announced items that have not ended, by type. */
  private readonly announced = new Map<number, Json | undefined>()

  constructor(private readonly context: UpstreamResponseContext | undefined) {}

  start({ id, model, created_at }: JsonObject): StreamEvent[] {
    if (this.started) return []
    this.started = true
    const event: StreamEvent = {
      type: "stream-start",
      ...(typeof id === "string" && { id }),
      ...(typeof model === "string" && { model }),
      ...(typeof created_at === "number" && { created: created_at }),
    }
    return [event]
  }

  grow(event: JsonObject, start: PartStart): StreamEvent[] {
    const events: StreamEvent[] = []
    const index = number(event.content_index ?? event.summary_index)
    const open = this.partAt(this.itemAt(event), { place: placeOf(start, index), start }, events)
    if (typeof event.delta === "string" && event.delta !== "")
      this.appendText(open, { text: event.delta, piece: index }, events)
    if (this.context && event.logprobs !== undefined) this.emitTokens(open, decodeLogprobs(event.logprobs), events)
    return events
  }

  startItem(event: JsonObject): StreamEvent[] {
    const item = isObject(event.item) ? event.item : {}
    const start = callIn(item, this.context?.customTools)
    this.announced.set(number(event.output_index), item.type)
    if (!start) return []
    const events: StreamEvent[] = []
    this.partAt(this.itemAt(event), { place: "", start }, events)
    return events
  }

  cite(event: JsonObject): StreamEvent[] {
    const citation = this.context && decodeAnnotation(event.annotation)
    if (!citation) return []
    const events: StreamEvent[] = []
    const place = placeOf(TEXT, number(event.content_index))
    const open = this.partAt(this.itemAt(event), { place, start: TEXT }, events)
    open.cited++
    events.push({ type: "part-cite", candidate: 0, part: open.part, citation })
    return events
  }

  endContent(event: JsonObject): StreamEvent[] {
    const events: StreamEvent[] = []
    if (isObject(event.part)) {
      this.content(event.part, { item: this.itemAt(event), index: number(event.content_index) }, events)
    }
    return events
  }

  endItem(event: JsonObject): StreamEvent[] {
    const item = isObject(event.item) ? event.item : {}
    const open = this.itemAt(event)
    const events: StreamEvent[] = []
    const call = callIn(item, this.context?.customTools)
    this.announced.delete(number(event.output_index))
    if (item.type === "message" && Array.isArray(item.content)) {
      for (const [index, part] of item.content.entries()) {
        if (isObject(part)) this.content(part, { item: open, index }, events)
      }
    } else if (item.type === "reasoning") this.endReasoning(item, open, events)
    else if (call) this.endCall(item, { call, open: this.partAt(open, { place: "", start: call }, events) }, events)
    else if (this.context && typeof item.type === "string" && item.type !== "message") this.whole(item, events)
    for (const part of open.values()) this.endPart(part, events)
    return events
  }

  end(response: JsonObject): StreamEvent[] {
    this.ended = true
    const events = this.context ? this.endAnnounced(response) : []
    for (const item of this.items.values()) for (const part of item.values()) this.endPart(part, events)
    const usage = decodeUsage(response.usage)
    const { calledTools, refused } = this
    events.push({ type: "candidate-end", candidate: 0, finish: decodeFinish(response, { calledTools, refused }) })
    if (usage) events.push({ type: "usage", usage })
    events.push({ type: "stream-end" })
    return events
  }

  /** OpenAI leaves out the ends of some items; the last event shows them (seen in 2026). */
  private endAnnounced({ output }: JsonObject): StreamEvent[] {
    if (!Array.isArray(output)) return []
    return [...this.announced].flatMap(([output_index, type]) => {
      const item: Json | undefined = output[output_index]
      return isObject(item) && item.type === type ? this.endItem({ output_index, item }) : []
    })
  }

  private itemAt(event: JsonObject): OpenItemParts {
    const index = number(event.output_index)
    let item = this.items.get(index)
    if (!item) {
      item = new Map()
      this.items.set(index, item)
    }
    return item
  }

  private partAt(
    item: OpenItemParts,
    { place, start }: { place: string; start: PartStart },
    events: StreamEvent[],
  ): OpenItemPart {
    const known = item.get(place)
    if (known) return known
    if (start.kind === "tool-call" && start.runsAt === "client") this.calledTools = true
    if (start.kind === "refusal") this.refused = true
    const part = this.parts++
    const open = { part, kind: start.kind, piece: 0, grown: false, ended: false, cited: 0, tokens: 0 }
    item.set(place, open)
    events.push({ type: "part-start", candidate: 0, part, start })
    return open
  }

  private appendText(
    open: OpenItemPart,
    { text, piece }: { text: string; piece: number },
    events: StreamEvent[],
  ): void {
    if (open.ended) return
    let delta = text
    if (open.kind === "reasoning" && piece !== open.piece) {
      if (open.grown) delta = BETWEEN_THOUGHTS + text
      open.piece = piece
    }
    open.grown = true
    events.push({ type: "part-delta", candidate: 0, part: open.part, text: delta })
  }

  private emitTokens(open: OpenItemPart, tokens: ReturnType<typeof decodeLogprobs>, events: StreamEvent[]): void {
    if (tokens.length === 0 || open.ended) return
    open.tokens += tokens.length
    events.push({ type: "logprobs", candidate: 0, tokens })
  }

  /** Reports the rest and the end of one message part that is complete. */
  private content(
    part: JsonObject,
    { item, index }: { item: OpenItemParts; index: number },
    events: StreamEvent[],
  ): void {
    const isRefusal = part.type === "refusal"
    if (!isRefusal && part.type !== "output_text") {
      // Reasoning ends with its item, which has the seal.
      if (!this.context || part.type === "reasoning_text" || item.has(`other.${index}`)) return
      const start = { kind: "whole", part: { kind: "foreign", protocol: PROTOCOL, value: part } } as const
      this.endPart(this.partAt(item, { place: `other.${index}`, start }, events), events)
      return
    }
    const start: PartStart = isRefusal ? { kind: "refusal" } : TEXT
    const text = isRefusal ? part.refusal : part.text
    const open = this.partAt(item, { place: placeOf(start, index), start }, events)
    if (open.ended) return
    if (!open.grown && typeof text === "string" && text !== "") this.appendText(open, { text, piece: index }, events)
    if (this.context && !isRefusal) {
      for (const citation of decodeAnnotations(part.annotations).slice(open.cited)) {
        events.push({ type: "part-cite", candidate: 0, part: open.part, citation })
      }
      this.emitTokens(open, decodeLogprobs(part.logprobs).slice(open.tokens), events)
    }
    this.endPart(open, events)
  }

  /** The seal goes on the last part of an item; if nothing is visible, on a part without text. */
  private endReasoning(item: JsonObject, open: OpenItemParts, events: StreamEvent[]): void {
    const sealed = this.sealOf(item)
    for (const [form, pieces] of [
      ["summary", textsOf(item.summary)] as const,
      ["full", textsOf(item.content)] as const,
    ]) {
      const start = { kind: "reasoning", form } as const
      if (pieces.join("") === "" || open.has(placeOf(start, 0))) continue
      const part = this.partAt(open, { place: placeOf(start, 0), start }, events)
      for (const [piece, text] of pieces.entries()) if (text !== "") this.appendText(part, { text, piece }, events)
    }
    if (open.size === 0 && sealed)
      this.partAt(open, { place: "", start: { kind: "reasoning", form: "hidden" } }, events)
    const last = [...open.values()].filter(({ ended }) => !ended).at(-1)
    for (const part of open.values()) this.endPart(part, events, part === last ? sealed : undefined)
  }

  private sealOf(item: JsonObject) {
    if (this.context) return sealReasoning(item, this.context.minter)
    const { encrypted_content: data } = item
    return typeof data === "string" ? { mintedBy: "openai", data } : undefined
  }

  /** The call's arguments, if no earlier event had them, and its result, if the provider ran it. */
  private endCall(item: JsonObject, { call, open }: CompletedCall, events: StreamEvent[]): void {
    if (open.ended) return
    const { arguments: args, result } = hostedRunIn(item, call)
    if (!open.grown && args !== "") this.appendText(open, { text: args, piece: 0 }, events)
    this.endPart(open, events)
    if (!this.context || !result) return
    const part = this.parts++
    events.push({ type: "part-start", candidate: 0, part, start: { kind: "whole", part: result } })
    events.push({ type: "part-end", candidate: 0, part })
  }

  private whole(value: JsonObject, events: StreamEvent[]): void {
    const part = this.parts++
    const start = { kind: "whole", part: { kind: "foreign", protocol: PROTOCOL, value } } as const
    events.push({ type: "part-start", candidate: 0, part, start }, { type: "part-end", candidate: 0, part })
  }

  private endPart(open: OpenItemPart, events: StreamEvent[], sealed?: { mintedBy: string; data: string }): void {
    if (open.ended) return
    open.ended = true
    events.push({ type: "part-end", candidate: 0, part: open.part, ...(sealed && { sealed }) })
  }
}

const TEXT: PartStart = { kind: "text" }

/** Texts of a message are separate parts; those of reasoning are one part, and so are a call's arguments. */
function placeOf(start: PartStart, index: number): string {
  if (start.kind === "tool-call") return ""
  return start.kind === "reasoning" ? start.form : `${start.kind}.${index}`
}

function number(value: Json | undefined): number {
  return typeof value === "number" ? value : 0
}
