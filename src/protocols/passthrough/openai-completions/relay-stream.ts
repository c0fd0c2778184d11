// Relays a streamed completion: decodes its events and edits its frames.

import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { isObject, type JsonObject } from "../../../canonical/json.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { findMember, outlineJson } from "../../../transport/json/json-scan.ts"
import { asciiJson, type JsonEdit, spliceJson } from "../../../transport/json/json-splice.ts"
import { encodeSse, type SseFrame, withData } from "../../../transport/streams/sse.ts"
import type { StreamStep } from "../../../transport/streams/stream-step.ts"
import type { RelayContext, StreamRelay } from "../../contract.ts"
import { decodeErrorBody, encodeError } from "../../openai/openai-errors.ts"
import { brokenEvent, parseEvent } from "../../parse-event.ts"
import { decodeUsage } from "./usage.ts"

/** Clients accept a comment line as a keep-alive. */
export const heartbeat = ": ping\n\n"
const DONE = "[DONE]"

export function relayStream(context: RelayContext): StreamRelay {
  return {
    observer: observeCompletion(),
    edit: (frame) => editCompletionFrame(frame, context),
    mayVary: new Map([["text", true]]),
    terminal: () => `data: ${DONE}\n\n`,
    // No `[DONE]` follows: clients would consider the stream complete.
    errorFrame: (error) => encodeByteText(encodeSse({ data: JSON.stringify(encodeError(error)) })),
  }
}

function observeCompletion(): StreamStep<SseFrame, StreamEvent> {
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
      return [...readCompletionChoices(chunk, candidates), ...(usage ? [{ type: "usage", usage } as const] : [])]
    },
    /** Some hosts omit the terminal event; a response is complete when every candidate has ended. */
    finish() {
      const isWhole = candidates.size > 0 && [...candidates.values()].every((state) => state === "ended")
      return isWhole && !ended ? end() : []
    },
  }
}

function readCompletionChoices({ choices }: JsonObject, candidates: Map<number, "open" | "ended">): StreamEvent[] {
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
    if (ends)
      events.push({ type: "part-end", ...at }, { type: "candidate-end", candidate, finish: finishReasonOf(word) })
    candidates.set(candidate, ends ? "ended" : "open")
    return events
  })
}

function finishReasonOf(word: string) {
  return { reason: word === "length" ? "length" : word === "content_filter" ? "filtered" : "stop", word } as const
}

function editCompletionFrame(frame: SseFrame, { model, reading: { usageRequested } }: RelayContext): string {
  const { raw, data } = frame
  const outlined = data === undefined || data === DONE ? undefined : outlineJson(data)
  if (data === undefined || !outlined) return raw
  const edits: JsonEdit[] = findMember(outlined, "model") ? [{ path: ["model"], set: asciiJson(model) }] : []
  const usage = usageRequested ? undefined : findMember(outlined, "usage")
  if (usage) {
    const choices = findMember(outlined, "choices")
    const isEmpty = choices && /^\[\s*\]$/.test(data.slice(choices.valueStart, choices.end))
    if (isEmpty && data.slice(usage.valueStart, usage.end) !== "null") return ""
    edits.push({ path: ["usage"], remove: true })
  }
  return withData(frame, spliceJson(data, edits, outlined))
}
