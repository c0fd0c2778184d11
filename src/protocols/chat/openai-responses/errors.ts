// A failure inside a responses stream: the response fails, and then the stream does. Some clients raise only on one.
import type { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { encodeSse } from "../../../transport/streams/sse.ts"
import { encodeError } from "../../openai/openai-errors.ts"

/** The state of a stream when it failed. */
export interface ResponsesStreamProgress {
  /** The response object of the first event, if that was sent. */
  readonly created: JsonObject | undefined
  /** The number of the last sent event; -1 if none. */
  readonly sequence: number
}

export function errorFrames(
  error: GatewayError,
  { created, sequence }: ResponsesStreamProgress,
  fresh: JsonObject,
): string {
  const response = created ?? fresh
  // A failed response is not stored, even if its first event had `store: true`.
  const failed = { ...response, status: "failed", store: false, error: { code: error.code, message: error.message } }
  const opening: Json[] = created ? [] : [{ type: "response.created", response }]
  const inner = encodeError(error) as JsonObject
  const { code, message } = error
  const param = error.param ?? null
  const events = [
    ...opening,
    { type: "response.failed", response: failed },
    { type: "error", code, message, param, ...inner },
  ]
  return events.map((event, index) => frame(event as JsonObject, sequence + 1 + index)).join("")
}

function frame(event: JsonObject, sequence_number: number): string {
  return encodeByteText(encodeSse({ event: String(event.type), data: JSON.stringify({ ...event, sequence_number }) }))
}

/** A response that has not begun, with every member clients expect. */
export function freshResponse(id: string, model: string, createdAt: number): JsonObject {
  return {
    id,
    object: "response",
    created_at: createdAt,
    completed_at: null,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: null,
    store: false,
    background: false,
    service_tier: "default",
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    top_logprobs: 0,
    presence_penalty: 0,
    frequency_penalty: 0,
    truncation: "disabled",
    usage: null,
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
  }
}
