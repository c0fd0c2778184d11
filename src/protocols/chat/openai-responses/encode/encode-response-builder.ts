// Builds a response part by part: the order of parts, and the state of the response object.

import type { CandidateFinish } from "../../../../canonical/chat/chat-response.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { approximated, dropped, foreignPaths } from "../../../losses.ts"
import { encodeFinish } from "../finish-reasons.ts"
import { endResponse, openResponse } from "./encode-response-object.ts"
import { createCallEncoder, createWholePartEncoder } from "./encode-stream-call.ts"
import { type EventSink, type ItemStatus, OutputBuilder } from "./encode-stream-output.ts"
import { ReasoningPartEncoder, type StreamPartEncoder, TextPartEncoder } from "./encode-stream-part.ts"

type ResponsePartEvent = Extract<StreamEvent, { part: number }>

export class ResponseBuilder {
  /** The response object as it was opened, once it was sent. */
  opened: JsonObject | undefined
  /** The complete response. */
  ended: JsonObject | undefined
  private readonly output: OutputBuilder
  private candidate: number | undefined
  private finish: CandidateFinish | undefined
  private refused = false
  private usage: Usage | undefined
  private partsSeen = 0
  private readonly lost = new Set<string>()
  private readonly parts = new Map<number, StreamPartEncoder>()
  /** Parts with content, the first of them being written. */
  private readonly queue: StreamPartEncoder[] = []
  /** Complete hidden reasoning: the vendor never ends a response with it, so each waits for a part after it. */
  private readonly hidden: StreamPartEncoder[] = []
  /** The text part of the next log probabilities. */
  private lastText: TextPartEncoder | undefined

  constructor(
    private readonly context: ClientResponseContext,
    private readonly wire: EventSink,
  ) {
    this.output = new OutputBuilder(context, wire)
  }

  take(event: StreamEvent): void {
    if (this.ended || event.type === "stream-error") return
    if (!this.opened) this.open(event)
    switch (event.type) {
      case "part-start":
      case "part-delta":
      case "part-cite":
      case "part-end":
        if (this.isShown(event.candidate) && !this.finish) this.part(event)
        return
      case "logprobs":
        if (this.isShown(event.candidate)) this.likely(event)
        return
      case "candidate-end":
        if (this.isShown(event.candidate)) this.conclude(event.finish)
        return
      case "usage":
        this.usage = event.usage
        return
      case "foreign":
        for (const path of foreignPaths(event.value)) this.loseOnce(path, `only ${event.protocol} has this`)
        return
      case "stream-end":
        this.conclude(this.finish)
        this.close()
    }
  }

  private open(event: StreamEvent): void {
    const opened = openResponse(this.context, event.type === "stream-start" ? event.created : undefined)
    this.opened = opened
    this.wire.emit("response.created", { response: opened })
    this.wire.emit("response.in_progress", { response: opened })
  }

  /** The first candidate with an event is the answer. */
  private isShown(candidate: number): boolean {
    this.candidate ??= candidate
    if (this.candidate === candidate) return true
    this.loseOnce(`candidates[${candidate}]`, "the responses interface has no place for a second candidate", "meaning")
    return false
  }

  private loseOnce(path: string, why: string, weight: "hint" | "meaning" = "hint"): void {
    if (this.lost.has(path)) return
    this.lost.add(path)
    this.context.losses.push(dropped[weight](path, why))
  }

  private part(event: ResponsePartEvent): void {
    if (event.type === "part-start") {
      this.startPart(event.part, event.start)
      return
    }
    const part = this.parts.get(event.part)
    if (!part) return
    if (event.type === "part-delta") {
      part.grow(event.text)
      if (part instanceof TextPartEncoder) this.lastText = part
    } else if (event.type === "part-cite") part.cite(event.citation)
    else {
      this.parts.delete(event.part)
      part.end(event.sealed, "completed")
    }
    this.advance(part)
  }

  private startPart(index: number, start: PartStart): void {
    this.endPart(index, "completed")
    const part = this.writingPart(start)
    this.parts.set(index, part)
    this.advance(part)
  }

  private writingPart(start: PartStart): StreamPartEncoder {
    const encodeContext = { output: this.output, number: this.partsSeen++ }
    switch (start.kind) {
      case "reasoning": {
        const reasoning = this.context.request.settings.reasoning
        return new ReasoningPartEncoder(
          start.form === "summary" || reasoning?.show === "summary" ? "summary" : "full",
          encodeContext,
        )
      }
      case "tool-call":
        return createCallEncoder(start, encodeContext)
      case "whole":
        return createWholePartEncoder(start.part, encodeContext)
      case "refusal":
        this.refused = true
        return new TextPartEncoder("refusal", encodeContext)
      default:
        return new TextPartEncoder("text", encodeContext)
    }
  }

  private endPart(index: number, status: ItemStatus): void {
    const part = this.parts.get(index)
    if (!part) return
    this.parts.delete(index)
    part.end(undefined, status)
    this.advance(part)
  }

  private likely({ tokens }: Extract<StreamEvent, { type: "logprobs" }>): void {
    const { lastText } = this
    if (!lastText || lastText.ended) {
      if (tokens.length > 0) this.loseOnce("logprobs", "they belong to no open text part")
      return
    }
    lastText.likely(tokens)
    this.advance(lastText)
  }

  /** Writes the parts that can be written after this part's change. */
  private advance(part: StreamPartEncoder): void {
    const { queue } = this
    if (queue[0] !== part) {
      if (!queue.includes(part) && part.isVisible) queue.push(part)
      if (queue[0] !== part) return
    }
    for (let head = queue[0]; head; head = queue[0]) {
      if (head.isHidden) this.hidden.push(head)
      else this.write(head)
      if (!head.ended) return
      queue.shift()
    }
  }

  private write(part: StreamPartEncoder): void {
    for (const each of this.hidden.splice(0)) each.write()
    part.write()
  }

  /** Cuts off open parts; usage may still arrive, and the last event has it. */
  private conclude(finish: CandidateFinish | undefined): void {
    const status = encodeFinish(finish, this.refused) === undefined ? "completed" : "incomplete"
    for (const index of [...this.parts.keys()]) this.endPart(index, status)
    this.output.endMessage(status)
    if (!this.finish && (finish?.reason === "paused" || finish?.reason === "other")) {
      const why = `the responses interface has no status for ${finish.word ?? finish.reason}`
      this.context.losses.push(approximated.meaning("finish", why))
    }
    this.finish ??= finish
  }

  private close(): void {
    const { finish, refused, usage, output } = this
    const ended = endResponse(this.opened ?? {}, { finish, refused, output: output.items, usage }, this.context)
    this.ended = ended
    this.wire.emit(`response.${ended.status}`, { response: ended })
  }
}
