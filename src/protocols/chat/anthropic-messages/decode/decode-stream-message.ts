// Decodes the events of a messages stream into canonical events. Never throws, whatever a host sends.

import type { ForeignPart, MediaPart, ToolResultPart } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import { decodeCitation } from "../citations.ts"
import { decodeErrorEvent } from "../errors.ts"
import { decodeFinish } from "../finish-reasons.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { sealIn } from "../seals.ts"
import { decodeUsage, laterUsage, serverToolUse } from "../usage.ts"
import { decodeBlock } from "./decode-part.ts"

interface OpenMessageBlock {
  readonly part: number
  /** A block without a canonical counterpart, collected until it is complete. */
  unknown?: JsonObject
  /** The call's input in its opening event, for hosts that send all of it at once; most send `{}`. */
  input?: Json | undefined
  sealed?: SealedContent
}

export class MessageStreamDecoder {
  ended = false
  stopped = false
  private started = false
  private usage: Usage = {}
  private parts = 0
  /** By the host's index, which some hosts use twice. */
  private readonly open = new Map<number, OpenMessageBlock>()

  constructor(private readonly minter: string) {}

  take(event: JsonObject): StreamEvent[] {
    const index = typeof event.index === "number" ? event.index : 0
    switch (event.type) {
      case "message_start":
        return this.start(isObject(event.message) ? event.message : {})
      case "content_block_start":
        return isObject(event.content_block) ? this.startBlock(index, event.content_block) : []
      case "content_block_delta":
        return isObject(event.delta) ? this.grow(this.open.get(index), event.delta) : []
      case "content_block_stop":
        return this.stopBlock(index)
      case "message_delta":
        return this.stop(event)
      case "message_stop":
        return this.end()
      case "error":
        return [{ type: "stream-error", error: decodeErrorEvent(event) }]
      default:
        return []
    }
  }

  end(): StreamEvent[] {
    this.ended = true
    return [...this.stopBlocks(), { type: "stream-end" }]
  }

  private start({ id, model, usage }: JsonObject): StreamEvent[] {
    const noted = this.note(decodeUsage(usage))
    if (this.started) return noted
    this.started = true
    const started: StreamEvent = {
      type: "stream-start",
      ...(typeof id === "string" && { id }),
      ...(typeof model === "string" && { model }),
    }
    return [started, ...noted]
  }

  private startBlock(index: number, block: JsonObject): StreamEvent[] {
    const before = this.open.size > 0 ? this.stopBlock(index) : []
    const open: OpenMessageBlock = { part: this.parts++ }
    this.open.set(index, open)
    const start = partStart(block, this.minter)
    if (!start) {
      open.unknown = block
      return before
    }
    const events: StreamEvent[] = [...before, { type: "part-start", candidate: 0, part: open.part, start }]
    if (start.kind === "tool-call") open.input = block.input ?? {}
    else if (start.kind !== "whole") events.push(...this.startPart(open, block))
    return events
  }

  /** Text or reasoning in the opening event, which is mostly empty. */
  private startPart(open: OpenMessageBlock, block: JsonObject): StreamEvent[] {
    const events = this.grow(open, block)
    if (block.type === "redacted_thinking" && typeof block.data === "string" && block.data !== "") {
      open.sealed = sealIn({ text: block.data, redacted: true, minter: this.minter })
    }
    if (!Array.isArray(block.citations)) return events
    return [...events, ...block.citations.flatMap((citation: Json) => this.cite(open, citation))]
  }

  private grow(open: OpenMessageBlock | undefined, delta: JsonObject): StreamEvent[] {
    if (!open) return []
    if (open.unknown) {
      open.unknown = mergeBlockDelta(open.unknown, delta)
      return []
    }
    const { part } = open
    if (delta.type === "citations_delta") return this.cite(open, delta.citation)
    const { signature } = delta
    if (typeof signature === "string" && signature !== "") open.sealed = { mintedBy: this.minter, data: signature }
    const text = delta.text ?? delta.thinking ?? delta.partial_json
    if (typeof text !== "string" || text === "") return []
    open.input = undefined
    return [{ type: "part-delta", candidate: 0, part, text }]
  }

  private cite({ part }: OpenMessageBlock, citation: Json | undefined): StreamEvent[] {
    return isObject(citation) ? [{ type: "part-cite", candidate: 0, part, citation: decodeCitation(citation) }] : []
  }

  private stopBlock(index: number): StreamEvent[] {
    const open = this.open.get(index)
    if (!open) return []
    this.open.delete(index)
    const { part, unknown, input, sealed } = open
    const end: StreamEvent = { type: "part-end", candidate: 0, part, ...(sealed && { sealed }) }
    if (unknown) return [{ type: "part-start", candidate: 0, part, start: wholePartStart(unknown) }, end]
    if (input === undefined) return [end]
    return [{ type: "part-delta", candidate: 0, part, text: JSON.stringify(input) }, end]
  }

  private stopBlocks(): StreamEvent[] {
    return [...this.open.keys()].flatMap((index) => this.stopBlock(index))
  }

  private stop({ delta, usage }: JsonObject): StreamEvent[] {
    const change = isObject(delta) ? delta : {}
    const counts = serverToolUse(usage)
    const foreign: StreamEvent[] = counts ? [{ type: "foreign", protocol: PROTOCOL, value: counts }] : []
    const noted = [...foreign, ...this.note(decodeUsage(usage))]
    if (typeof change.stop_reason !== "string") return noted
    this.stopped = true
    const finish = decodeFinish(change.stop_reason, change.stop_sequence)
    return [...this.stopBlocks(), { type: "candidate-end", candidate: 0, finish }, ...noted]
  }

  /** The first event has the input count, the last one the output count; later values win. */
  private note(usage: Usage | undefined): StreamEvent[] {
    if (!usage) return []
    this.usage = laterUsage(this.usage, usage)
    return [{ type: "usage", usage: this.usage }]
  }
}

/** Undefined for an unknown kind of block, which may grow in unknown ways. */
function partStart(block: JsonObject, minter: string): PartStart | undefined {
  if (block.type === "text") return { kind: "text" }
  if (block.type === "thinking") return { kind: "reasoning", form: "full" }
  if (block.type === "redacted_thinking") return { kind: "reasoning", form: "hidden" }
  const part = decodeBlock(withCallDefaults(block), { minter })
  if (part.kind === "tool-result" || part.kind === "media") return { kind: "whole", part }
  if (part.kind !== "tool-call") return undefined
  const { arguments: _, ...start } = part
  return start
}

/** A call without an id or a name is still a call. */
function withCallDefaults(block: JsonObject): JsonObject {
  if (block.type !== "tool_use" && block.type !== "server_tool_use" && block.type !== "mcp_tool_use") return block
  const named = typeof block.id === "string" && typeof block.name === "string"
  return named ? block : { ...block, id: block.id ?? "", name: block.name ?? "" }
}

function wholePartStart(block: JsonObject): Extract<PartStart, { kind: "whole" }> {
  const value: ForeignPart | MediaPart | ToolResultPart = { kind: "foreign", protocol: PROTOCOL, value: block }
  return { kind: "whole", part: value }
}

/** Merges a delta into a block: texts grow, other members are replaced. */
function mergeBlockDelta(block: JsonObject, { type: _, ...members }: JsonObject): JsonObject {
  const more = Object.entries(members).map(([name, value]) => {
    const before = Object.hasOwn(block, name) ? block[name] : undefined
    return [name, typeof before === "string" && typeof value === "string" ? before + value : value] as const
  })
  return { ...block, ...Object.fromEntries<Json>(more) }
}
