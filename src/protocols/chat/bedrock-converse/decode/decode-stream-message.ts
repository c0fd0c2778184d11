// Decodes the events of a Converse stream into canonical events. Never throws, whatever a host sends.
import { Buffer } from "node:buffer"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { ANSWER_TOOL } from "../answer-tool.ts"
import { decodeCitation } from "../citations.ts"
import { decodeErrorEvent } from "../errors.ts"
import { decodeFinish } from "../finish-reasons.ts"
import { redactedSeal } from "../seals.ts"
import { decodeUsage } from "../usage.ts"
import { callStart, decodeWhole } from "./decode-part.ts"

interface OpenConverseBlock {
  readonly part: number
  readonly kind: PartStart["kind"]
  /** True if it is a tool call without any input yet. */
  waits: boolean
  signature: string
  readonly redacted: Buffer[]
  /** Pieces without meaning of their own, collected until the block is complete. */
  pieces?: JsonObject
}

const TEXT: PartStart = { kind: "text" }
const THOUGHT: PartStart = { kind: "reasoning", form: "full" }
const HIDDEN: PartStart = { kind: "reasoning", form: "hidden" }

export class ConverseStreamDecoder {
  ended = false
  stopped = false
  private started = false
  private counted = false
  private parts = 0
  /** The numbers of calls that the caller has to run, and of calls of the answer tool. */
  private calls = 0
  private answers = 0
  /** By the host's index. */
  private readonly open = new Map<number, OpenConverseBlock>()

  constructor(private readonly context: UpstreamResponseContext) {}

  take(type: string | undefined, event: JsonObject): StreamEvent[] {
    if (type === "error") return [{ type: "stream-error", error: decodeErrorEvent(event) }]
    const events = this.readEvent(type, event)
    if (this.started) return events
    this.started = true
    return [{ type: "stream-start" }, ...events]
  }

  end(): StreamEvent[] {
    this.ended = true
    return [...this.stopBlocks(), { type: "stream-end" }]
  }

  private readEvent(type: string | undefined, event: JsonObject): StreamEvent[] {
    const index = typeof event.contentBlockIndex === "number" ? event.contentBlockIndex : 0
    switch (type) {
      case "contentBlockDelta":
        return isObject(event.delta) ? this.grow(index, event.delta) : []
      case "contentBlockStart":
        return isObject(event.start) ? this.startBlock(index, event.start) : []
      case "contentBlockStop":
        return this.stopBlock(index)
      case "messageStop":
        return this.stop(event)
      case "metadata":
        return this.count(event.usage)
      default:
        return []
    }
  }

  /** Only calls, and blocks in pieces, have an opening event. */
  private startBlock(index: number, start: JsonObject): StreamEvent[] {
    if (isObject(start.toolUse)) return this.startCall(index, start.toolUse)
    if (Object.keys(start).length === 0) return []
    return [...this.stopBlock(index), ...this.gather(index, start)]
  }

  private startCall(index: number, wire: JsonObject): StreamEvent[] {
    const call = callStart(wire, { ...this.context, number: this.parts })
    if (call.name === ANSWER_TOOL) this.answers++
    else if (call.runsAt === "client") this.calls++
    const events = this.begin(index, call.name === ANSWER_TOOL ? TEXT : call)
    const open = this.open.get(index)
    if (open) open.waits = true
    return events
  }

  private grow(index: number, delta: JsonObject): StreamEvent[] {
    const { text, toolUse, reasoningContent, citation } = delta
    if (typeof text === "string") return text === "" ? [] : this.appendText(index, TEXT, text)
    if (isObject(toolUse)) return this.growCall(index, toolUse.input)
    if (isObject(reasoningContent)) return this.appendReasoning(index, reasoningContent)
    if (isObject(citation)) {
      const { events, open } = this.ensure(index, TEXT)
      return [...events, { type: "part-cite", candidate: 0, part: open.part, citation: decodeCitation(citation) }]
    }
    return this.gather(index, delta)
  }

  private growCall(index: number, input: Json | undefined): StreamEvent[] {
    const open = this.open.get(index)
    if (!open || typeof input !== "string" || input === "") return []
    open.waits = false
    return [{ type: "part-delta", candidate: 0, part: open.part, text: input }]
  }

  private appendReasoning(index: number, { text, signature, redactedContent }: JsonObject): StreamEvent[] {
    if (typeof redactedContent === "string") {
      const { events, open } = this.ensure(index, HIDDEN)
      open.redacted.push(Buffer.from(redactedContent, "base64"))
      return events
    }
    if (typeof signature === "string" && signature !== "") {
      const { events, open } = this.ensure(index, THOUGHT)
      open.signature += signature
      return events
    }
    return typeof text === "string" && text !== "" ? this.appendText(index, THOUGHT, text) : []
  }

  private appendText(index: number, start: PartStart, text: string): StreamEvent[] {
    const { events, open } = this.ensure(index, start)
    events.push({ type: "part-delta", candidate: 0, part: open.part, text })
    return events
  }

  /** The open part at this index, which is started if there is none of the kind. */
  private ensure(index: number, start: PartStart): { events: StreamEvent[]; open: OpenConverseBlock } {
    const open = this.open.get(index)
    if (open && open.kind === start.kind && !open.pieces && !open.waits) return { events: [], open }
    const events = this.begin(index, start)
    return { events, open: this.open.get(index) as OpenConverseBlock }
  }

  private begin(index: number, start: PartStart): StreamEvent[] {
    const events = this.open.size > 0 ? this.stopBlock(index) : []
    const part = this.parts++
    this.open.set(index, { part, kind: start.kind, waits: false, signature: "", redacted: [] })
    events.push({ type: "part-start", candidate: 0, part, start })
    return events
  }

  private gather(index: number, more: JsonObject): StreamEvent[] {
    const open = this.open.get(index)
    if (open?.pieces) {
      open.pieces = mergeConverseDelta(open.pieces, more)
      return []
    }
    const events = this.stopBlock(index)
    const part = this.parts++
    this.open.set(index, {
      part,
      kind: "whole",
      waits: false,
      signature: "",
      redacted: [],
      pieces: mergeConverseDelta({}, more),
    })
    return events
  }

  private stopBlock(index: number): StreamEvent[] {
    const open = this.open.get(index)
    if (!open) return []
    this.open.delete(index)
    const { part, pieces } = open
    const sealed = this.sealOf(open)
    const events: StreamEvent[] = []
    if (pieces) {
      events.push({ type: "part-start", candidate: 0, part, start: { kind: "whole", part: decodeWhole(pieces) } })
    }
    // A tool without parameters is called with empty input.
    if (open.waits) events.push({ type: "part-delta", candidate: 0, part, text: "{}" })
    events.push({ type: "part-end", candidate: 0, part, ...(sealed && { sealed }) })
    return events
  }

  private sealOf({ signature, redacted }: OpenConverseBlock): SealedContent | undefined {
    const { minter } = this.context
    if (redacted.length > 0) return redactedSeal(Buffer.concat(redacted).toString("base64"), minter)
    return signature === "" ? undefined : { mintedBy: minter, data: signature }
  }

  private stopBlocks(): StreamEvent[] {
    return [...this.open.keys()].flatMap((index) => this.stopBlock(index))
  }

  private stop({ stopReason, additionalModelResponseFields: fields }: JsonObject): StreamEvent[] {
    if (typeof stopReason !== "string" || this.stopped) return []
    this.stopped = true
    const answered = this.answers > 0 && this.calls === 0
    const finish = decodeFinish(stopReason, { fields, answered })
    const events: StreamEvent[] = [...this.stopBlocks(), { type: "candidate-end", candidate: 0, finish }]
    return this.counted ? [...events, ...this.end()] : events
  }

  /** The last reported usage counts. */
  private count(wire: Json | undefined): StreamEvent[] {
    this.counted = true
    const usage = decodeUsage(wire)
    const events: StreamEvent[] = usage ? [{ type: "usage", usage }] : []
    return this.stopped ? [...events, ...this.end()] : events
  }
}

/** The nesting depth of a block's pieces: `image`, `source`, `bytes`. */
const LEVELS = 3

/** Merges a delta into a block. A result's contents arrive as a list, which is its `content`. */
function mergeConverseDelta(block: JsonObject, more: JsonObject, levels = LEVELS): JsonObject {
  const added = Object.entries(more).map(([name, value]): [string, Json] => {
    const before = Object.hasOwn(block, name) ? block[name] : undefined
    const piece = Array.isArray(value) && name === "toolResult" ? { content: value } : value
    return [name, before === undefined ? piece : mergeJsonValues(before, piece, levels)]
  })
  return { ...block, ...Object.fromEntries(added) }
}

function mergeJsonValues(before: Json, added: Json, levels: number): Json {
  if (typeof before === "string" && typeof added === "string") return before + added
  if (Array.isArray(before) && Array.isArray(added)) return [...before, ...added]
  return levels > 1 && isObject(before) && isObject(added) ? mergeConverseDelta(before, added, levels - 1) : added
}
