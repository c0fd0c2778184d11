// Encodes a stream for clients of this protocol: one block at a time, in order, each piece as soon as it arrives.
// Overlapping parts wait for one another; an empty part does not make others wait.

import type { CandidateFinish } from "../../../../canonical/chat/chat-response.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import { encodeByteText } from "../../../../transport/json/byte-text.ts"
import type { ClientResponseContext, StreamWriter } from "../../../chat-codec.ts"
import { dropped, foreignPaths } from "../../../losses.ts"
import { errorFrame } from "../errors.ts"
import { encodeFinish } from "../finish-reasons.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { encodeClosingUsage, encodeOpeningUsage, ownToolUse } from "../usage.ts"
import { messageId, reportResponseLoss } from "./encode-response-common.ts"
import { StreamedBlock } from "./encode-stream-block.ts"

export function encodeStream(context: ClientResponseContext): StreamWriter {
  const stream = new MessageStreamEncoder(context)
  return { push: (event) => stream.take(event), finish: () => [], errorFrame }
}

type MessagePartEvent = Extract<StreamEvent, { part: number }>

class MessageStreamEncoder {
  private id: string | undefined
  private opened = false
  private ended = false
  private calls = false
  private refuses = false
  private candidate: number | undefined
  private finish: CandidateFinish | undefined
  private usage: Usage = {}
  /** Usage members that only this protocol has. */
  private ownUsage: JsonObject = {}
  private blocks = 0
  private partsSeen = 0
  private readonly lost = new Set<string>()
  private readonly parts = new Map<number, StreamedBlock>()
  /** Blocks with content, the first of them being written. */
  private readonly queue: StreamedBlock[] = []
  /** Complete hidden reasoning: clients take the last block as the answer, so each waits for a block after it. */
  private readonly hidden: StreamedBlock[] = []

  constructor(private readonly context: ClientResponseContext) {}

  take(event: StreamEvent): string[] {
    if (this.ended) return []
    switch (event.type) {
      case "stream-start":
        this.id ??= event.id
        return []
      case "usage":
        this.usage = event.usage
        return []
      case "part-start":
      case "part-delta":
      case "part-cite":
      case "part-end":
        if (!this.isShown(event.candidate)) return []
        return this.opened ? this.part(event) : [...this.open(), ...this.part(event)]
      case "candidate-end":
        return this.isShown(event.candidate) ? [...this.open(), ...this.conclude(event.finish)] : []
      case "logprobs":
        this.loseOnce("logprobs", () =>
          this.context.losses.push(dropped.hint("logprobs", "a messages response has no log probabilities")),
        )
        return []
      case "stream-end":
        return [...this.open(), ...this.endParts(), ...this.close()]
      case "foreign":
        this.takeForeign(event)
        return []
      default:
        return []
    }
  }

  private takeForeign({ protocol, value }: Extract<StreamEvent, { type: "foreign" }>): void {
    if (protocol === PROTOCOL && isObject(value)) this.ownUsage = { ...this.ownUsage, ...value }
    if (protocol === PROTOCOL) return
    for (const path of foreignPaths(value)) {
      this.loseOnce(path, () => this.context.losses.push(dropped.hint(path, `only ${protocol} has this`)))
    }
  }

  /** The first candidate with an event is the answer. */
  private isShown(candidate: number): boolean {
    this.candidate ??= candidate
    if (this.candidate === candidate) return true
    const path = `candidates[${candidate}]`
    this.loseOnce(path, () => reportResponseLoss(this.context, { path, what: "a second candidate" }))
    return false
  }

  private loseOnce(what: string, report: () => void): void {
    if (this.lost.has(what)) return
    this.lost.add(what)
    report()
  }

  /** Held back until there is content, so that it includes the input usage if known. */
  private open(): string[] {
    if (this.opened) return []
    this.opened = true
    const message = {
      id: messageId(this.id, this.context),
      type: "message",
      role: "assistant",
      model: this.context.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: encodeOpeningUsage(this.usage),
    }
    return [frame("message_start", { type: "message_start", message })]
  }

  private part(event: MessagePartEvent): string[] {
    if (this.finish) return []
    if (event.type === "part-start") return this.startPart(event.part, event.start)
    const block = this.parts.get(event.part)
    if (!block) return []
    if (event.type === "part-delta") block.grow(event.text)
    else if (event.type === "part-cite") block.cite(event.citation)
    else {
      this.parts.delete(event.part)
      block.end(event.sealed)
    }
    return this.advance(block)
  }

  private startPart(part: number, start: PartStart): string[] {
    const before = this.parts.has(part) ? this.endPart(part) : []
    if (start.kind === "tool-call" && start.runsAt === "client") this.calls = true
    if (start.kind === "refusal") this.refuses = true
    const block = new StreamedBlock(start, { number: this.partsSeen++, context: this.context })
    this.parts.set(part, block)
    return [...before, ...this.advance(block)]
  }

  private endPart(part: number): string[] {
    return this.part({ type: "part-end", candidate: this.candidate ?? 0, part })
  }

  private endParts(): string[] {
    return [...this.parts.keys()].flatMap((part) => this.endPart(part))
  }

  /** Writes the blocks that can be written after this block's change. */
  private advance(block: StreamedBlock): string[] {
    if (!this.queue.includes(block) && block.isVisible) this.queue.push(block)
    if (this.queue[0] !== block) return []
    const frames: string[] = []
    for (let head: StreamedBlock | undefined = block; head; head = this.queue[0]) {
      if (head.isHidden) this.hidden.push(head)
      else frames.push(...this.write(head))
      if (!head.ended) break
      this.queue.shift()
    }
    return frames.map(encodeByteText)
  }

  private write(block: StreamedBlock): string[] {
    if (block.index !== undefined) return block.write()
    return [...this.hidden.splice(0), block].flatMap((each) => {
      const ahead = each.ahead(() => this.blocks++)
      each.index = this.blocks++
      return [...ahead, ...each.write()]
    })
  }

  /** Usage may still arrive, and `message_delta` has both. */
  private conclude(finish: CandidateFinish): string[] {
    const frames = this.endParts()
    this.finish ??= finish
    return frames
  }

  private close(): string[] {
    this.ended = true
    const { calls, refuses, context } = this
    const delta = encodeFinish(this.finish, { calls, refuses, losses: context.losses })
    const usage = { ...encodeClosingUsage(this.usage), ...ownToolUse(this.ownUsage) }
    return [
      frame("message_delta", { type: "message_delta", delta, usage }),
      frame("message_stop", { type: "message_stop" }),
    ]
  }
}

function frame(event: string, data: object): string {
  return encodeByteText(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
