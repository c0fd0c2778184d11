// An answer as it is being written, part by part: which part's turn it is, and what the response says of itself.
import type { JsonObject } from "../../canonical/json.ts"
import type { Finish } from "../../canonical/response.ts"
import type { PartStart, StreamEvent } from "../../canonical/stream.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { EncodeContext } from "../codec.ts"
import { foreignPaths } from "../losses.ts"
import { approximated, dropped } from "../openai-fields.ts"
import { Output, type Status, type Wire } from "./output.ts"
import { endedResponse, incompleteReason, openedResponse } from "./response-object.ts"
import { writingCall, writingWhole } from "./writing-call.ts"
import { SpokenPart, ThoughtPart, type WritingPart } from "./writing-part.ts"

type PartEvent = Extract<StreamEvent, { part: number }>

export class AnswerWriter {
  /** The response as it was opened, once that was told. */
  opened: JsonObject | undefined
  /** The response when it is whole. */
  ended: JsonObject | undefined
  private readonly output: Output
  private candidate: number | undefined
  private finish: Finish | undefined
  private refused = false
  private usage: Usage | undefined
  private partsSeen = 0
  private readonly lost = new Set<string>()
  private readonly parts = new Map<number, WritingPart>()
  /** Parts with something to say, the first of them being written. */
  private readonly queue: WritingPart[] = []
  /** Hidden thoughts that are whole: the vendor ends no answer with one, so each waits for something behind it. */
  private readonly hidden: WritingPart[] = []
  /** What the tokens belong to that are told of next. */
  private spoken: SpokenPart | undefined

  constructor(
    private readonly context: EncodeContext,
    private readonly wire: Wire,
  ) {
    this.output = new Output(context, wire)
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
        for (const path of foreignPaths(event.value)) this.loseOnce(path, `only ${event.protocol} tells this`)
        return
      case "stream-end":
        this.conclude(this.finish)
        this.close()
    }
  }

  private open(event: StreamEvent): void {
    const opened = openedResponse(this.context, event.type === "stream-start" ? event.created : undefined)
    this.opened = opened
    this.wire.tell("response.created", { response: opened })
    this.wire.tell("response.in_progress", { response: opened })
  }

  /** The first candidate to speak is the answer. */
  private isShown(candidate: number): boolean {
    this.candidate ??= candidate
    if (this.candidate === candidate) return true
    this.loseOnce(`candidates[${candidate}]`, "the responses interface has no place for a second candidate", "meaning")
    return false
  }

  private loseOnce(path: string, why: string, weight: "hint" | "meaning" = "hint"): void {
    if (this.lost.has(path)) return
    this.lost.add(path)
    this.context.losses.push(dropped(path, weight, why))
  }

  private part(event: PartEvent): void {
    if (event.type === "part-start") {
      this.startPart(event.part, event.start)
      return
    }
    const part = this.parts.get(event.part)
    if (!part) return
    if (event.type === "part-delta") {
      part.grow(event.text)
      if (part instanceof SpokenPart) this.spoken = part
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

  private writingPart(start: PartStart): WritingPart {
    const writing = { output: this.output, number: this.partsSeen++ }
    switch (start.kind) {
      case "reasoning": {
        const wish = this.context.asked.settings.reasoning
        return new ThoughtPart(start.form === "summary" || wish?.show === "summary" ? "summary" : "full", writing)
      }
      case "tool-call":
        return writingCall(start, writing)
      case "whole":
        return writingWhole(start.part, writing)
      case "refusal":
        this.refused = true
        return new SpokenPart("refusal", writing)
      default:
        return new SpokenPart("text", writing)
    }
  }

  private endPart(index: number, status: Status): void {
    const part = this.parts.get(index)
    if (!part) return
    this.parts.delete(index)
    part.end(undefined, status)
    this.advance(part)
  }

  private likely({ tokens }: Extract<StreamEvent, { type: "logprobs" }>): void {
    const { spoken } = this
    if (!spoken || spoken.ended) {
      if (tokens.length > 0) this.loseOnce("logprobs", "they belong to no text that is being said")
      return
    }
    spoken.likely(tokens)
    this.advance(spoken)
  }

  /** Writes what may be written now that this part knows more. */
  private advance(part: WritingPart): void {
    const { queue } = this
    if (queue[0] !== part) {
      if (!queue.includes(part) && part.speaks) queue.push(part)
      if (queue[0] !== part) return
    }
    for (let head = queue[0]; head; head = queue[0]) {
      if (head.isHidden) this.hidden.push(head)
      else this.write(head)
      if (!head.ended) return
      queue.shift()
    }
  }

  private write(part: WritingPart): void {
    for (const each of this.hidden.splice(0)) each.write()
    part.write()
  }

  /** What is still open is cut off; usage may still come, and the last event tells it. */
  private conclude(finish: Finish | undefined): void {
    const status = incompleteReason(finish, this.refused) === undefined ? "completed" : "incomplete"
    for (const index of [...this.parts.keys()]) this.endPart(index, status)
    this.output.endMessage(status)
    if (!this.finish && (finish?.reason === "paused" || finish?.reason === "other")) {
      const why = `there is no word for an answer that ends with ${finish.word ?? finish.reason}`
      this.context.losses.push(approximated("finish", "meaning", why))
    }
    this.finish ??= finish
  }

  private close(): void {
    const { finish, refused, usage, output } = this
    const ended = endedResponse(this.opened ?? {}, { finish, refused, output: output.items, usage }, this.context)
    this.ended = ended
    this.wire.tell(`response.${ended.status}`, { response: ended })
  }
}
