// Reads the events of a responses stream into canonical ones.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { PartStart, StreamEvent } from "../../canonical/stream.ts"
import type { Frame } from "../../transport/sse.ts"
import type { Step } from "../../transport/step.ts"
import { brokenEvent, parseEvent } from "../event-data.ts"
import { decodeErrorBody } from "../openai-error.ts"
import { decodeFinish } from "./response.ts"
import { decodeUsage } from "./usage.ts"

export function decodeStream(): Step<Frame, StreamEvent> {
  const response = new GrowingResponse()
  return {
    push({ data }) {
      if (data === undefined || response.ended) return []
      const event = parseEvent(data)
      return event ? response.take(event) : [brokenEvent()]
    },
    /** There is a terminal event, and nothing else says that the answer is whole. */
    finish: () => [],
  }
}

/** What a delta event grows, where nothing announced it. */
const DELTAS: Readonly<Record<string, PartStart>> = {
  "response.output_text.delta": { kind: "text" },
  "response.refusal.delta": { kind: "refusal" },
  "response.reasoning_summary_text.delta": { kind: "reasoning", form: "summary" },
  "response.reasoning_text.delta": { kind: "reasoning", form: "full" },
  "response.function_call_arguments.delta": { kind: "tool-call", id: "", name: "", runsAt: "client" },
  "response.custom_tool_call_input.delta": { kind: "tool-call", id: "", name: "", runsAt: "client" },
  "response.mcp_call_arguments.delta": { kind: "tool-call", id: "", name: "", runsAt: "provider" },
  "response.code_interpreter_call_code.delta": { kind: "tool-call", id: "", name: "", runsAt: "provider" },
}

class GrowingResponse {
  ended = false
  private parts = 0
  private calledTools = false
  /** Open parts by output item and place in it; the place is "" where an item has one part only. */
  private readonly open = new Map<string, number>()

  take(event: JsonObject): StreamEvent[] {
    const { type } = event
    // Some hosts fail as they would in chat completions.
    if (typeof type !== "string") return event.error === undefined || event.error === null ? [] : [failure(event)]
    const grown = DELTAS[type]
    if (grown) return this.grow(event, grown)
    switch (type) {
      case "response.created":
        return isObject(event.response) ? [streamStart(event.response)] : []
      case "response.output_item.added":
        return this.startItem(event)
      case "response.output_item.done":
        return this.endItem(event)
      case "response.completed":
      case "response.incomplete":
        return this.end(isObject(event.response) ? event.response : {})
      case "response.failed":
        return [failure(isObject(event.response) ? event.response : {})]
      case "error":
        return [failure(event)]
      default:
        return []
    }
  }

  private grow(event: JsonObject, start: PartStart): StreamEvent[] {
    const events: StreamEvent[] = []
    const part = this.partAt(event, start, events)
    if (typeof event.delta === "string" && event.delta !== "") {
      events.push({ type: "part-delta", candidate: 0, part, text: event.delta })
    }
    return events
  }

  private partAt(event: JsonObject, start: PartStart, events: StreamEvent[]): number {
    const place =
      start.kind === "tool-call" ? "" : `${start.kind}.${number(event.content_index ?? event.summary_index)}`
    const key = `${number(event.output_index)}.${place}`
    const known = this.open.get(key)
    if (known !== undefined) return known
    const part = this.parts++
    this.open.set(key, part)
    events.push({ type: "part-start", candidate: 0, part, start })
    return part
  }

  private startItem(event: JsonObject): StreamEvent[] {
    const item = isObject(event.item) ? event.item : {}
    const start = callStart(item)
    if (!start) return []
    if (start.runsAt === "client") this.calledTools = true
    const events: StreamEvent[] = []
    this.partAt(event, start, events)
    return events
  }

  private endItem(event: JsonObject): StreamEvent[] {
    const item = isObject(event.item) ? event.item : {}
    const sealed = typeof item.encrypted_content === "string" ? item.encrypted_content : undefined
    const events: StreamEvent[] = []
    const prefix = `${number(event.output_index)}.`
    for (const [key, part] of this.open) {
      if (!key.startsWith(prefix)) continue
      this.open.delete(key)
      events.push({
        type: "part-end",
        candidate: 0,
        part,
        ...(sealed !== undefined && { sealed: { mintedBy: "openai", data: sealed } }),
      })
    }
    return events
  }

  private end(response: JsonObject): StreamEvent[] {
    this.ended = true
    const usage = decodeUsage(response.usage)
    return [
      { type: "candidate-end", candidate: 0, finish: decodeFinish(response, this.calledTools) },
      ...(usage ? [{ type: "usage", usage } as const] : []),
      { type: "stream-end" },
    ]
  }
}

/** The start of a call, for items that are one: the client's own, or one the provider runs. */
function callStart({ type, call_id, id, name }: JsonObject) {
  if (typeof type !== "string" || !type.endsWith("_call")) return undefined
  const runsAt =
    type === "function_call" || type === "custom_tool_call" || type === "local_shell_call" ? "client" : "provider"
  return { kind: "tool-call", id: word(call_id) || word(id), name: word(name) || type, runsAt } as const
}

function streamStart({ id, model, created_at }: JsonObject): StreamEvent {
  return {
    type: "stream-start",
    ...(typeof id === "string" && { id }),
    ...(typeof model === "string" && { model }),
    ...(typeof created_at === "number" && { created: created_at }),
  }
}

function failure(said: JsonObject): StreamEvent {
  return { type: "stream-error", error: decodeErrorBody(said) }
}

function number(value: Json | undefined): number {
  return typeof value === "number" ? value : 0
}

function word(value: Json | undefined): string {
  return typeof value === "string" ? value : ""
}
