// Responses at the upstream's end: writing an answer. Requests are read in openai-responses-request.ts.
import {
  type AnswerPart,
  inPieces,
  inputOf,
  type JsonObject,
  OUTPUT_TOKENS,
  type ScriptedAnswer,
  USAGE,
} from "../conversation.ts"
import { text } from "../wire.ts"
import { parseResponsesRequest, REASONING_ID } from "./openai-responses-request.ts"
import { AnswerRecorder, type EncodedAnswer, type UpstreamFormat } from "./upstream-format.ts"

export const openaiResponsesFormat: UpstreamFormat = {
  protocol: "openai-responses",
  contentType: "text/event-stream; charset=utf-8",
  addressed(path, { model, stream }) {
    return path === "/v1/responses" ? { model: text(model), stream: stream === true } : undefined
  },
  parseRequest: parseResponsesRequest,
  whole,
  stream,
  errorEvent: event("error", {
    sequence_number: 99,
    code: "server_error",
    message: "The server had an error.",
    param: null,
  }),
}

function usageOf(answer: ScriptedAnswer): JsonObject {
  return {
    input_tokens: inputOf(answer),
    input_tokens_details: { cached_tokens: USAGE.cacheRead },
    output_tokens: OUTPUT_TOKENS,
    output_tokens_details: { reasoning_tokens: USAGE.reasoning },
    total_tokens: inputOf(answer) + OUTPUT_TOKENS,
  }
}

/** The reason why an answer is not complete; undefined where it is. */
function incompleteReason({ finish, parts }: ScriptedAnswer): string | undefined {
  if (finish === "length") return "max_output_tokens"
  return finish === "refusal" && !parts.some((part) => "refusal" in part) ? "content_filter" : undefined
}

/** Each answer's items have ids of their own, as a vendor's have. */
const numbers = new Map<ScriptedAnswer["parts"], number>()

function numberOf({ parts }: ScriptedAnswer): number {
  const number = numbers.get(parts) ?? numbers.size
  numbers.set(parts, number)
  return number
}

function whole(answer: ScriptedAnswer): JsonObject {
  const reason = incompleteReason(answer)
  return {
    id: "resp_0a1b2c3d4e5f",
    object: "response",
    created_at: 1_760_000_000,
    status: reason === undefined ? "completed" : "incomplete",
    background: false,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: "upstream-model-2026-01-01",
    output: answer.parts.map((part, index) => itemOf(part, { index, answer })),
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: "high", summary: "detailed" },
    safety_identifier: null,
    service_tier: "default",
    store: false,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    usage: usageOf(answer),
    user: null,
    metadata: {},
  }
}

interface ItemPlace {
  readonly index: number
  readonly answer: ScriptedAnswer
}

function itemOf(part: AnswerPart, { index, answer }: ItemPlace): JsonObject {
  const own = `${numberOf(answer)}_${index}`
  if ("reasoning" in part) {
    const summary = [{ type: "summary_text", text: part.reasoning }]
    return { id: REASONING_ID, type: "reasoning", encrypted_content: part.seal, summary }
  }
  if ("call" in part) {
    const { id, name, arguments: input } = part.call
    return {
      id: `fc_0a1b2c${own}`,
      type: "function_call",
      status: "completed",
      arguments: JSON.stringify(input),
      call_id: id,
      name,
    }
  }
  if ("remote" in part) {
    const { server, name, arguments: input, output } = part.remote
    return {
      ...{ id: `mcp_0a1b2c${own}`, type: "mcp_call", status: "completed", approval_request_id: null },
      ...{ server_label: server, name, arguments: JSON.stringify(input), output, error: null },
    }
  }
  return {
    id: `msg_0a1b2c${own}`,
    type: "message",
    status: "completed",
    content: [contentOf(part)],
    role: "assistant",
  }
}

type MessagePart = Extract<AnswerPart, { text: string } | { refusal: string }>

function contentOf(part: MessagePart): JsonObject {
  if ("refusal" in part) return { type: "refusal", refusal: part.refusal }
  return { type: "output_text", annotations: [], logprobs: [], text: part.text }
}

function event(type: string, more: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
}

function stream(answer: ScriptedAnswer): EncodedAnswer {
  const numbered = new NumberedSpeech()
  const { usage: _, ...begun } = whole({ ...answer, parts: [], finish: "stop" })
  const response = { ...begun, status: "in_progress", usage: null }
  numbered.add("response.created", { response })
  numbered.add("response.in_progress", { response })
  for (const [index, part] of answer.parts.entries()) speakItem(part, { index, answer }, numbered)
  const ending = incompleteReason(answer) === undefined ? "response.completed" : "response.incomplete"
  numbered.add(ending, { response: whole(answer) })
  return numbered.speech
}

/** Numbers the events as they go. */
class NumberedSpeech {
  readonly speech = new AnswerRecorder()

  add(type: string, more: JsonObject): void {
    this.speech.add(event(type, { sequence_number: this.speech.events.length, ...more }))
  }

  addPiece(type: string, more: JsonObject): void {
    const sequence_number = this.speech.events.length
    this.speech.addPiece(event(type, { sequence_number, ...more, obfuscation: "Xb2kQ" }))
  }
}

function speakItem(part: AnswerPart, place: ItemPlace, numbered: NumberedSpeech): void {
  const { index: output_index } = place
  const item = itemOf(part, place)
  const at = { item_id: item.id ?? "", output_index }
  if ("reasoning" in part) {
    numbered.add("response.output_item.added", { output_index, item: { ...item, summary: [] } })
    const inside = { ...at, summary_index: 0 }
    const empty = { type: "summary_text", text: "" }
    numbered.add("response.reasoning_summary_part.added", { ...inside, part: empty })
    for (const delta of inPieces(part.reasoning)) {
      numbered.addPiece("response.reasoning_summary_text.delta", { ...inside, delta })
    }
    numbered.add("response.reasoning_summary_text.done", { ...inside, text: part.reasoning })
    numbered.add("response.reasoning_summary_part.done", { ...inside, part: { ...empty, text: part.reasoning } })
  } else if ("call" in part) {
    const begun = { ...item, status: "in_progress", arguments: "" }
    numbered.add("response.output_item.added", { output_index, item: begun })
    const json = JSON.stringify(part.call.arguments)
    for (const delta of inPieces(json)) numbered.addPiece("response.function_call_arguments.delta", { ...at, delta })
    numbered.add("response.function_call_arguments.done", { ...at, arguments: json })
  } else if ("remote" in part) {
    const begun = { ...item, status: "in_progress", arguments: "", output: null }
    numbered.add("response.output_item.added", { output_index, item: begun })
    numbered.add("response.mcp_call.in_progress", at)
    const json = JSON.stringify(part.remote.arguments)
    for (const delta of inPieces(json)) numbered.addPiece("response.mcp_call_arguments.delta", { ...at, delta })
    numbered.add("response.mcp_call_arguments.done", { ...at, arguments: json })
    numbered.add("response.mcp_call.completed", at)
  } else speakMessage(part, { item, output_index, numbered })
  numbered.add("response.output_item.done", { output_index, item })
}

interface OutputMessage {
  readonly item: JsonObject
  readonly output_index: number
  readonly numbered: NumberedSpeech
}

function speakMessage(part: MessagePart, { item, output_index, numbered }: OutputMessage): void {
  const place = { item_id: item.id ?? "", output_index, content_index: 0 }
  const isText = "text" in part
  const content = isText ? part.text : part.refusal
  const empty = contentOf(isText ? { text: "" } : { refusal: "" })
  const word = isText ? "response.output_text" : "response.refusal"
  const logprobs = isText ? { logprobs: [] } : {}
  numbered.add("response.output_item.added", { output_index, item: { ...item, status: "in_progress", content: [] } })
  numbered.add("response.content_part.added", { ...place, part: empty })
  for (const delta of inPieces(content)) numbered.addPiece(`${word}.delta`, { ...place, delta, ...logprobs })
  numbered.add(`${word}.done`, { ...place, ...(isText ? { text: content } : { refusal: content }), ...logprobs })
  numbered.add("response.content_part.done", { ...place, part: contentOf(part) })
}
