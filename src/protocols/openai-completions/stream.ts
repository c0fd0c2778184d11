// A streamed completion in the relay lane: what is read of its events along the way, and what of each passes.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { StreamEvent } from "../../canonical/stream.ts"
import { encodeByteText } from "../../transport/byte-text.ts"
import { findMember, outline } from "../../transport/json-scan.ts"
import { asciiJson, type Edit, splice } from "../../transport/json-splice.ts"
import { encodeSse, type Frame, withData } from "../../transport/sse.ts"
import type { Step } from "../../transport/step.ts"
import type { RelayContext, StreamRelay } from "../contract.ts"
import { brokenEvent, parseEvent } from "../event-data.ts"
import { decodeErrorBody, encodeError } from "../openai-error.ts"
import { decodeUsage } from "./usage.ts"

/** Clients take a comment line for a sign of life. */
export const heartbeat = ": ping\n\n"
const DONE = "[DONE]"

export function relayStream(context: RelayContext): StreamRelay {
  return {
    observer: observer(),
    edit: (frame) => edited(frame, context),
    mayVary: new Map([["text", true]]),
    terminal: () => `data: ${DONE}\n\n`,
    // No `[DONE]` after it: clients would take the stream for complete.
    errorFrame: (error) => encodeByteText(encodeSse({ data: JSON.stringify(encodeError(error)) })),
  }
}

function observer(): Step<Frame, StreamEvent> {
  const candidates = new Map<number, "open" | "ended">()
  let ended = false
  const end = (): StreamEvent[] => {
    ended = true
    return [{ type: "stream-end" }]
  }
  return {
    push({ event, data }) {
      if (data === undefined || ended) return []
      if (data.trim() === DONE) return end()
      const chunk = parseEvent(data)
      if (!chunk) return [brokenEvent()]
      if (event === "error" || (chunk.error !== undefined && chunk.error !== null)) {
        return [{ type: "stream-error", error: decodeErrorBody(chunk) }]
      }
      const usage = decodeUsage(chunk.usage)
      return [...said(chunk, candidates), ...(usage ? [{ type: "usage", usage } as const] : [])]
    },
    /** Some hosts leave out the terminal event; an answer whose every candidate has ended is whole all the same. */
    finish() {
      const isWhole = candidates.size > 0 && [...candidates.values()].every((state) => state === "ended")
      return isWhole && !ended ? end() : []
    },
  }
}

function said({ choices }: JsonObject, candidates: Map<number, "open" | "ended">): StreamEvent[] {
  if (!Array.isArray(choices)) return []
  return choices.flatMap((choice): StreamEvent[] => {
    if (!isObject(choice)) return []
    const { index, text, finish_reason: word } = choice
    const candidate = typeof index === "number" ? index : 0
    const at = { candidate, part: 0 }
    const events: StreamEvent[] = []
    if (!candidates.has(candidate)) events.push({ type: "part-start", ...at, start: { kind: "text" } })
    if (typeof text === "string" && text !== "") events.push({ type: "part-delta", ...at, text })
    const ends = typeof word === "string" && word !== ""
    if (ends) events.push({ type: "part-end", ...at }, { type: "candidate-end", candidate, finish: finishOf(word) })
    candidates.set(candidate, ends ? "ended" : "open")
    return events
  })
}

function finishOf(word: string) {
  return { reason: word === "length" ? "length" : word === "content_filter" ? "filtered" : "stop", word } as const
}

function edited(frame: Frame, { model, reading: { usageAsked } }: RelayContext): string {
  const { raw, data } = frame
  const outlined = data === undefined || data === DONE ? undefined : outline(data)
  if (data === undefined || !outlined) return raw
  const edits: Edit[] = findMember(outlined, "model") ? [{ path: ["model"], set: asciiJson(model) }] : []
  const usage = usageAsked ? undefined : findMember(outlined, "usage")
  if (usage) {
    const choices = findMember(outlined, "choices")
    const isEmpty = choices && /^\[\s*\]$/.test(data.slice(choices.valueStart, choices.end))
    if (isEmpty && data.slice(usage.valueStart, usage.end) !== "null") return ""
    edits.push({ path: ["usage"], remove: true })
  }
  return withData(frame, splice(data, edits, outlined))
}
