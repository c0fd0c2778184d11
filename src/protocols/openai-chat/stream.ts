// Reads a chat completions stream into canonical events, and says what of each frame passes in the relay lane.
import { GatewayError } from "../../canonical/error.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { PartStart, StreamEvent } from "../../canonical/stream.ts"
import { decodeByteText } from "../../transport/byte-text.ts"
import { findMember, type Member, outline } from "../../transport/json-scan.ts"
import { asciiJson, type Edit, splice } from "../../transport/json-splice.ts"
import { type Frame, withData } from "../../transport/sse.ts"
import type { Step } from "../../transport/step.ts"
import type { RelayContext, StreamRelay } from "../contract.ts"
import { decodeErrorBody } from "./errors.ts"
import { decodeFinish } from "./response.ts"
import { decodeUsage } from "./usage.ts"

const DONE = "[DONE]"

export const terminal = `data: ${DONE}\n\n`

/** Clients take a comment line for a sign of life. */
export const heartbeat = ": ping\n\n"

export function relayStream(context: RelayContext): StreamRelay {
  return { observer: decodeStream(), edit: editFrame(context) }
}

function editFrame({ model, usageAsked }: RelayContext): (frame: Frame) => string {
  const name = asciiJson(model)
  const rename = renaming(name)
  return (frame) => {
    const { data } = frame
    if (data === undefined || data === DONE) return frame.raw
    const quick = usageAsked || !data.includes('"usage"') ? rename.quickly(data) : undefined
    if (quick !== undefined) return withData(frame, quick)
    const outlined = outline(data)
    if (!outlined) return frame.raw
    const named = findMember(outlined, "model")
    if (named) rename.remember(data, named)
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
    remember(data: string, { valueStart, end }: Member): void {
      const isString = data.charCodeAt(valueStart) === QUOTE
      before = isString ? data.slice(0, end) : ""
      after = isString ? data.slice(0, valueStart) + name : ""
    },
    quickly(data: string): string | undefined {
      return before !== "" && data.startsWith(before) ? after + data.slice(before.length) : undefined
    },
  }
}

const QUOTE = 0x22

interface OpenCandidate {
  /** The part that grows by text, and the tool calls by the index the upstream gives them. */
  text: { readonly part: number; readonly kind: PartStart["kind"] } | undefined
  readonly calls: Map<number, number>
  parts: number
  ended: boolean
}

export function decodeStream(): Step<Frame, StreamEvent> {
  const candidates = new Map<number, OpenCandidate>()
  let started = false
  let ended = false

  return {
    push({ event, data }) {
      if (data === undefined || ended) return []
      if (data.trim() === DONE) {
        ended = true
        return [...endOpenParts(candidates), { type: "stream-end" }]
      }
      const chunk = parse(data)
      if (!chunk) return [brokenEvent()]
      if (event === "error" || (chunk.error !== undefined && chunk.error !== null)) {
        return [{ type: "stream-error", error: decodeErrorBody(chunk) }]
      }
      const events: StreamEvent[] = []
      if (!started) events.push(streamStart(chunk))
      started = true
      if (Array.isArray(chunk.choices)) {
        for (const choice of chunk.choices) if (isObject(choice)) decodeChoice(choice, candidates, events)
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

function parse(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(decodeByteText(data))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function brokenEvent(): StreamEvent {
  const message = "The provider sent an event that is not valid JSON."
  return { type: "stream-error", error: new GatewayError("upstream_unavailable", message, { owner: "upstream" }) }
}

function streamStart({ id, model, created }: JsonObject): StreamEvent {
  return {
    type: "stream-start",
    ...(typeof id === "string" && { id }),
    ...(typeof model === "string" && { model }),
    ...(typeof created === "number" && { created }),
  }
}

function decodeChoice(choice: JsonObject, candidates: Map<number, OpenCandidate>, events: StreamEvent[]): void {
  const index = typeof choice.index === "number" ? choice.index : 0
  let candidate = candidates.get(index)
  if (!candidate) {
    candidate = { text: undefined, calls: new Map(), parts: 0, ended: false }
    candidates.set(index, candidate)
  }
  const grow = new CandidateEvents(index, candidate, events)
  if (isObject(choice.delta)) {
    const { delta } = choice
    // `reasoning_content` is DeepSeek's and most hosts' name, `reasoning` OpenRouter's and Groq's; some send both.
    grow.text("reasoning", delta.reasoning_content ?? delta.reasoning)
    grow.text("text", delta.content)
    grow.text("refusal", delta.refusal)
    if (Array.isArray(delta.tool_calls)) {
      for (const [position, call] of delta.tool_calls.entries()) if (isObject(call)) grow.call(call, position)
    }
  }
  if (typeof choice.finish_reason === "string" && !candidate.ended) {
    grow.endParts()
    candidate.ended = true
    events.push({ type: "candidate-end", candidate: index, finish: decodeFinish(choice.finish_reason) })
  }
}

function endOpenParts(candidates: ReadonlyMap<number, OpenCandidate>): StreamEvent[] {
  const events: StreamEvent[] = []
  for (const [index, candidate] of candidates) new CandidateEvents(index, candidate, events).endParts()
  return events
}

/** Writes the events by which one candidate grows. */
class CandidateEvents {
  constructor(
    private readonly index: number,
    private readonly candidate: OpenCandidate,
    private readonly events: StreamEvent[],
  ) {}

  text(kind: "text" | "refusal" | "reasoning", value: Json | undefined): void {
    if (typeof value !== "string" || value === "") return
    if (this.candidate.text?.kind !== kind) {
      this.endText()
      this.candidate.text = { part: this.start(kind === "reasoning" ? { kind, form: "full" } : { kind }), kind }
    }
    this.delta(this.candidate.text.part, value)
  }

  call(call: JsonObject, position: number): void {
    this.endText()
    const called = isObject(call.function) ? call.function : {}
    const index = typeof call.index === "number" ? call.index : position
    let part = this.candidate.calls.get(index)
    if (part === undefined) {
      const id = typeof call.id === "string" ? call.id : ""
      const name = typeof called.name === "string" ? called.name : ""
      part = this.start({ kind: "tool-call", id, name, runsAt: "client" })
      this.candidate.calls.set(index, part)
    }
    if (typeof called.arguments === "string" && called.arguments !== "") this.delta(part, called.arguments)
  }

  endParts(): void {
    this.endText()
    for (const part of this.candidate.calls.values()) this.end(part)
    this.candidate.calls.clear()
  }

  private endText(): void {
    if (this.candidate.text) this.end(this.candidate.text.part)
    this.candidate.text = undefined
  }

  private start(start: PartStart): number {
    const part = this.candidate.parts++
    this.events.push({ type: "part-start", candidate: this.index, part, start })
    return part
  }

  private delta(part: number, text: string): void {
    this.events.push({ type: "part-delta", candidate: this.index, part, text })
  }

  private end(part: number): void {
    this.events.push({ type: "part-end", candidate: this.index, part })
  }
}
