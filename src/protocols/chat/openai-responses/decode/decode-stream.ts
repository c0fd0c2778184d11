// Decodes a responses stream into canonical events: for the translate lane, and as the relay's observer.

import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import type { SseFrame } from "../../../../transport/streams/sse.ts"
import type { StreamStep } from "../../../../transport/streams/stream-step.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { decodeErrorBody } from "../../../openai/openai-errors.ts"
import { brokenEvent, parseEvent } from "../../../parse-event.ts"
import { ResponsesStreamDecoder } from "./decode-stream-response.ts"

/** Without a context, as the relay's observer, it skips what that does not need. */
export function decodeStream(context?: UpstreamResponseContext): StreamStep<SseFrame, StreamEvent> {
  const response = new ResponsesStreamDecoder(context)
  return {
    push({ data }) {
      if (data === undefined || response.ended) return []
      const event = parseEvent(data)
      return event ? take(event, response) : [brokenEvent()]
    },
    /** Only the terminal event shows that the response is complete. */
    finish: () => [],
  }
}

/** The part that a delta event extends, if no event has announced it. */
const DELTAS: Readonly<Record<string, PartStart>> = {
  "response.output_text.delta": { kind: "text" },
  "response.refusal.delta": { kind: "refusal" },
  "response.reasoning_summary_text.delta": { kind: "reasoning", form: "summary" },
  "response.reasoning_text.delta": { kind: "reasoning", form: "full" },
  "response.function_call_arguments.delta": { kind: "tool-call", id: "", name: "", runsAt: "client" },
  "response.custom_tool_call_input.delta": { kind: "tool-call", id: "", name: "", input: "text", runsAt: "client" },
  "response.mcp_call_arguments.delta": { kind: "tool-call", id: "", name: "", runsAt: "provider" },
  "response.code_interpreter_call_code.delta": {
    kind: "tool-call",
    id: "",
    name: "",
    input: "text",
    runsAt: "provider",
  },
}

function take(event: JsonObject, response: ResponsesStreamDecoder): StreamEvent[] {
  const { type } = event
  // Some hosts fail as they would in chat completions.
  if (typeof type !== "string") return event.error === undefined || event.error === null ? [] : [failure(event)]
  const grown = DELTAS[type]
  if (grown) return response.grow(event, grown)
  switch (type) {
    case "response.created":
    case "response.in_progress":
      return isObject(event.response) ? response.start(event.response) : []
    case "response.output_item.added":
      return response.startItem(event)
    case "response.output_text.annotation.added":
      return response.cite(event)
    case "response.content_part.done":
      return response.endContent(event)
    case "response.output_item.done":
      return response.endItem(event)
    case "response.completed":
    case "response.incomplete":
      return response.end(isObject(event.response) ? event.response : {})
    case "response.failed":
      return [failure(isObject(event.response) ? event.response : {})]
    case "error":
      return [failure(event)]
    default:
      return []
  }
}

function failure(body: JsonObject): StreamEvent {
  return { type: "stream-error", error: decodeErrorBody(body) }
}
