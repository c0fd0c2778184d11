// Reads a chat completions stream into canonical events, and says what of each frame passes in the relay lane.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { PartStart, StreamEvent } from "../../canonical/stream.ts"
import { findMember, type Member, outline } from "../../transport/json-scan.ts"
import { asciiJson, type Edit, splice } from "../../transport/json-splice.ts"
import { type Frame, withData } from "../../transport/sse.ts"
import type { Step } from "../../transport/step.ts"
import type { RelayContext, StreamRelay } from "../contract.ts"
import { brokenEvent, parseEvent } from "../event-data.ts"
import { decodeErrorBody } from "../openai-error.ts"
import { errorFrame } from "./errors.ts"
import { decodeFinish } from "./response.ts"
import { decodeUsage } from "./usage.ts"

const DONE = "[DONE]"

/** Clients take a comment line for a sign of life. */
export const heartbeat = ": ping\n\n"

export function relayStream(context: RelayContext): StreamRelay {
  return {
    observer: decodeStream(),
    edit: editFrame(context),
    mayVary: MAY_VARY,
    terminal: () => `data: ${DONE}\n\n`,
    errorFrame,
  }
}

const MAY_VARY: ReadonlySet<string> = new Set(["content", "reasoning_content", "reasoning", "arguments", "obfuscation"])

function editFrame({ model, reading: { usageAsked } }: RelayContext): (frame: Frame) => string {
  const name = asciiJson(model)
  const rename = renaming(name)
  return (frame) => {
    const { raw, data } = frame
    if (data === undefined || data === DONE) return raw
    const quick = usageAsked || !raw.includes('"usage"') ? rename.quickly(raw) : undefined
    if (quick !== undefined) return quick
    const outlined = outline(data)
    if (!outlined) return raw
    const named = findMember(outlined, "model")
    if (named) rename.remember(frame, named)
    const edits: Edit[] = named ? [{ path: ["model"], set: name }] : []
    const usage = usageAsked ? undefined : findMember(outlined, "usage")
    if (usage) {
      const choices = findMember(outlined, "choices")
      const empty = choices && /^\[\s*\]$/.test(data.slice(choices.valueStart, choices.end))
      if (empty && data.slice(usage.valueStart, usage.end) !== "null") return ""
      edits.push(HIDE_USAGE)
    }
    return withData(frame, splice(data, edits, outlined))
  }
}

const HIDE_USAGE: Edit = { path: ["usage"], remove: true }

/**
 * The events of a stream begin alike, up to and with the model's name. One that begins as the last did needs no scan:
 * what stands before the same closing quote has the same structure.
 */
function renaming(name: string) {
  let before = ""
  let after = ""
  return {
    remember({ raw, data = "", dataStart }: Frame, { valueStart, end }: Member): void {
      const isPlain = dataStart >= 0 && data.charCodeAt(valueStart) === QUOTE
      before = isPlain ? raw.slice(0, dataStart + end) : ""
      after = isPlain ? raw.slice(0, dataStart + valueStart) + name : ""
    },
    quickly(raw: string): string | undefined {
      return before !== "" && raw.startsWith(before) ? after + raw.slice(before.length) : undefined
    },
  }
}

const QUOTE = 0x22

export function decodeStream(): Step<Frame, StreamEvent> {
  const candidates = new Map<number, GrowingCandidate>()
  let started = false
  let ended = false

  return {
    push({ event, data }) {
      if (data === undefined || ended) return []
      if (data.trim() === DONE) {
        ended = true
        const events: StreamEvent[] = []
        for (const candidate of candidates.values()) candidate.endParts(events)
        events.push({ type: "stream-end" })
        return events
      }
      const chunk = parseEvent(data)
      if (!chunk) return [brokenEvent()]
      if (event === "error" || (chunk.error !== undefined && chunk.error !== null)) {
        return [{ type: "stream-error", error: decodeErrorBody(chunk) }]
      }
      const events: StreamEvent[] = []
      if (!started) events.push(streamStart(chunk))
      started = true
      if (Array.isArray(chunk.choices)) {
        for (const choice of chunk.choices) if (isObject(choice)) candidateOf(choice, candidates).grow(choice, events)
      }
      const usage = decodeUsage(chunk.usage)
      if (usage) events.push({ type: "usage", usage })
      return events
    },
    /** Some hosts leave out the terminal event; an answer whose every candidate has ended is whole all the same. */
    finish() {
      if (ended || candidates.size === 0) return []
      for (const candidate of candidates.values()) if (!candidate.ended) return []
      ended = true
      return [{ type: "stream-end" }]
    },
  }
}

function streamStart({ id, model, created }: JsonObject): StreamEvent {
  return {
    type: "stream-start",
    ...(typeof id === "string" && { id }),
    ...(typeof model === "string" && { model }),
    ...(typeof created === "number" && { created }),
  }
}

function candidateOf(choice: JsonObject, candidates: Map<number, GrowingCandidate>): GrowingCandidate {
  const index = typeof choice.index === "number" ? choice.index : 0
  const known = candidates.get(index)
  if (known) return known
  const candidate = new GrowingCandidate(index)
  candidates.set(index, candidate)
  return candidate
}

/** One candidate as its deltas come in: knows which of its parts are open, and writes the events by which they grow. */
class GrowingCandidate {
  ended = false
  private parts = 0
  /** The part that grows by text. */
  private open: { readonly part: number; readonly kind: PartStart["kind"] } | undefined
  /** The tool calls' parts, by the index the upstream gives them. */
  private readonly calls = new Map<number, number>()

  constructor(private readonly index: number) {}

  grow({ delta, finish_reason }: JsonObject, events: StreamEvent[]): void {
    if (isObject(delta)) {
      // `reasoning_content` is DeepSeek's and most hosts' name, `reasoning` OpenRouter's and Groq's; some send both.
      this.text("reasoning", delta.reasoning_content ?? delta.reasoning, events)
      this.text("text", delta.content, events)
      this.text("refusal", delta.refusal, events)
      if (Array.isArray(delta.tool_calls)) {
        for (const [position, call] of delta.tool_calls.entries()) if (isObject(call)) this.call(call, position, events)
      }
    }
    if (typeof finish_reason !== "string" || this.ended) return
    this.endParts(events)
    this.ended = true
    events.push({ type: "candidate-end", candidate: this.index, finish: decodeFinish(finish_reason) })
  }

  endParts(events: StreamEvent[]): void {
    this.endText(events)
    for (const part of this.calls.values()) events.push({ type: "part-end", candidate: this.index, part })
    this.calls.clear()
  }

  private text(kind: "text" | "refusal" | "reasoning", value: Json | undefined, events: StreamEvent[]): void {
    if (typeof value !== "string" || value === "") return
    if (this.open?.kind !== kind) {
      this.endText(events)
      this.open = { part: this.start(kind === "reasoning" ? { kind, form: "full" } : { kind }, events), kind }
    }
    events.push({ type: "part-delta", candidate: this.index, part: this.open.part, text: value })
  }

  private call(call: JsonObject, position: number, events: StreamEvent[]): void {
    this.endText(events)
    const called = isObject(call.function) ? call.function : {}
    const index = typeof call.index === "number" ? call.index : position
    let part = this.calls.get(index)
    if (part === undefined) {
      const id = typeof call.id === "string" ? call.id : ""
      const name = typeof called.name === "string" ? called.name : ""
      part = this.start({ kind: "tool-call", id, name, runsAt: "client" }, events)
      this.calls.set(index, part)
    }
    if (typeof called.arguments !== "string" || called.arguments === "") return
    events.push({ type: "part-delta", candidate: this.index, part, text: called.arguments })
  }

  private start(start: PartStart, events: StreamEvent[]): number {
    const part = this.parts++
    events.push({ type: "part-start", candidate: this.index, part, start })
    return part
  }

  private endText(events: StreamEvent[]): void {
    if (this.open) events.push({ type: "part-end", candidate: this.index, part: this.open.part })
    this.open = undefined
  }
}
