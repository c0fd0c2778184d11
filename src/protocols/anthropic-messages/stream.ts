// Reads a messages stream into canonical events, and says what of each frame passes in the relay lane.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { Sealed } from "../../canonical/sealed.ts"
import type { PartStart, StreamEvent } from "../../canonical/stream.ts"
import type { Usage } from "../../canonical/usage.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import { type Frame, withData } from "../../transport/sse.ts"
import type { Step } from "../../transport/step.ts"
import type { RelayContext, StreamRelay } from "../contract.ts"
import { brokenEvent, parseEvent } from "../event-data.ts"
import { decodeErrorEvent, errorFrame } from "./errors.ts"
import { decodeFinish } from "./response.ts"
import { decodeUsage, laterUsage } from "./usage.ts"

/** The protocol has an event for it. */
export const heartbeat = 'event: ping\ndata: {"type": "ping"}\n\n'

const MAY_VARY: ReadonlySet<string> = new Set(["text", "thinking", "partial_json"])

export function relayStream({ model }: RelayContext): StreamRelay {
  const name = asciiJson(model)
  let opened = false
  return {
    observer: decodeStream(),
    /** Only the first event names the model. Some hosts send it twice, which clients refuse. */
    edit(frame) {
      if (frame.data === undefined || !isOpening(frame.data)) return frame.raw
      if (opened) return ""
      opened = true
      return withData(frame, splice(frame.data, [{ path: ["message", "model"], set: name }]))
    },
    mayVary: MAY_VARY,
    terminal: () => 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    errorFrame,
  }
}

/** The words may stand in a text, too. */
function isOpening(data: string): boolean {
  return data.includes('"message_start"') && parseEvent(data)?.type === "message_start"
}

export function decodeStream(): Step<Frame, StreamEvent> {
  const message = new GrowingMessage()
  return {
    push({ data }) {
      if (data === undefined || message.ended) return []
      const event = parseEvent(data)
      return event ? message.take(event) : [brokenEvent()]
    },
    /** Some hosts leave out the terminal event; a message that said why it stopped is whole all the same. */
    finish() {
      if (message.ended || !message.stopped) return []
      return [{ type: "stream-end" }]
    },
  }
}

class GrowingMessage {
  ended = false
  stopped = false
  private usage: Usage = {}
  private readonly seals = new Map<number, Sealed>()
  /** Blocks that are parts of ours; others, such as a search's results, only their own protocol understands. */
  private readonly open = new Set<number>()

  take(event: JsonObject): StreamEvent[] {
    const part = typeof event.index === "number" ? event.index : 0
    switch (event.type) {
      case "message_start":
        return this.start(isObject(event.message) ? event.message : {})
      case "content_block_start":
        return isObject(event.content_block) ? this.startPart(part, event.content_block) : []
      case "content_block_delta":
        return isObject(event.delta) && this.open.has(part) ? this.grow(part, event.delta) : []
      case "content_block_stop":
        return this.open.delete(part) ? [this.endPart(part)] : []
      case "message_delta":
        return this.stop(event)
      case "message_stop":
        this.ended = true
        return [{ type: "stream-end" }]
      case "error":
        return [{ type: "stream-error", error: decodeErrorEvent(event) }]
      default:
        return []
    }
  }

  private start({ id, model, usage }: JsonObject): StreamEvent[] {
    const started: StreamEvent = {
      type: "stream-start",
      ...(typeof id === "string" && { id }),
      ...(typeof model === "string" && { model }),
    }
    return [started, ...this.note(decodeUsage(usage))]
  }

  private startPart(part: number, block: JsonObject): StreamEvent[] {
    const start = partStart(block)
    if (!start) return [{ type: "foreign", protocol: "anthropic-messages", value: block }]
    if (typeof block.signature === "string") this.seal(part, block.signature)
    this.open.add(part)
    return [{ type: "part-start", candidate: 0, part, start }]
  }

  private grow(part: number, delta: JsonObject): StreamEvent[] {
    if (typeof delta.signature === "string") this.seal(part, delta.signature)
    const text = delta.text ?? delta.thinking ?? delta.partial_json
    return typeof text === "string" && text !== "" ? [{ type: "part-delta", candidate: 0, part, text }] : []
  }

  private seal(part: number, data: string): void {
    if (data !== "") this.seals.set(part, { mintedBy: "anthropic", data })
  }

  private endPart(part: number): StreamEvent {
    const sealed = this.seals.get(part)
    return { type: "part-end", candidate: 0, part, ...(sealed && { sealed }) }
  }

  private stop({ delta, usage }: JsonObject): StreamEvent[] {
    const said = isObject(delta) ? delta : {}
    const noted = this.note(decodeUsage(usage))
    if (typeof said.stop_reason !== "string") return noted
    this.stopped = true
    const finish = decodeFinish(said.stop_reason, said.stop_sequence)
    return [{ type: "candidate-end", candidate: 0, finish }, ...noted]
  }

  /** The first event counts the input, the last the output; what comes later counts. */
  private note(usage: Usage | undefined): StreamEvent[] {
    if (!usage) return []
    this.usage = laterUsage(this.usage, usage)
    return [{ type: "usage", usage: this.usage }]
  }
}

function partStart({ type, id, name }: JsonObject): PartStart | undefined {
  if (type === "text") return { kind: "text" }
  if (type === "thinking") return { kind: "reasoning", form: "full" }
  if (type === "redacted_thinking") return { kind: "reasoning", form: "hidden" }
  if (type !== "tool_use" && type !== "server_tool_use" && type !== "mcp_tool_use") return undefined
  return {
    kind: "tool-call",
    id: typeof id === "string" ? id : "",
    name: typeof name === "string" ? name : "",
    runsAt: type === "tool_use" ? "client" : "provider",
  }
}
