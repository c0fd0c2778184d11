// The simulator speaking OpenAI's chat completions.
import type { Json, JsonObject } from "../canonical/json.ts"
import type { SimulatedCall, SimulatedEndpoint } from "./call.ts"
import { type Candidate, type SimulatedAnswer, type SimulatedUsage, simulate, type ToolCall } from "./core.ts"
import { digest } from "./digest.ts"
import { object } from "./json-members.ts"
import { readChatRequest } from "./openai-chat-request.ts"
import { refuseOpenai } from "./openai-error.ts"
import { eventStream, interleaved } from "./pulled-stream.ts"

export const openaiChat: SimulatedEndpoint = { answer, refuse: refuseOpenai }

function answer({ body, cache, signal }: SimulatedCall): Response {
  const request = readChatRequest(body)
  const simulated = simulate(request, { cache, caching: "implicit" })
  const head = {
    id: `chatcmpl-${digest(simulated.seed, 29)}`,
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    service_tier: "default",
    system_fingerprint: `fp_${digest(request.model, 10)}`,
  }
  if (body.stream !== true) return Response.json(unary(head, simulated))
  const withUsage = object(body.stream_options).include_usage === true
  return eventStream(chunks(head, simulated, { withUsage }), { signal, last: "[DONE]" })
}

const FINISH_REASONS = {
  stop: "stop",
  "stop-sequence": "stop",
  length: "length",
  "tool-calls": "tool_calls",
} as const

function unary(head: JsonObject, { seed, candidates, usage }: SimulatedAnswer): Json {
  const choices = candidates.map((candidate, index) => ({
    index,
    message: message(candidate, { seed, index }),
    logprobs: null,
    finish_reason: FINISH_REASONS[candidate.finish],
  }))
  return { ...head, object: "chat.completion", choices, usage: usageOf(usage) }
}

interface Which {
  readonly seed: string
  readonly index: number
}

function message({ reasoning, text, calls }: Candidate, which: Which): JsonObject {
  return {
    role: "assistant",
    content: calls.length > 0 ? null : text.join(""),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join("") }),
    refusal: null,
    annotations: [],
    ...(calls.length > 0 && {
      tool_calls: calls.map((call, at) => ({ ...opened(call, { ...which, at }), function: whole(call) })),
    }),
  }
}

function opened({ name }: ToolCall, { seed, index, at }: Which & { at: number }) {
  return { id: `call_${digest(`${seed} ${index} ${at}`, 24)}`, type: "function", function: { name, arguments: "" } }
}

function whole({ name, tokens }: ToolCall): JsonObject {
  return { name, arguments: tokens.join("") }
}

function* chunks(
  head: JsonObject,
  { seed, candidates, usage }: SimulatedAnswer,
  { withUsage }: { withUsage: boolean },
): Generator<JsonObject> {
  const chunk = (choices: Json, said: JsonObject | null): JsonObject => {
    return { ...head, object: "chat.completion.chunk", choices, ...(withUsage && { usage: said }) }
  }
  const rows = candidates.map((candidate, index) => choiceChunks(candidate, { seed, index }))
  for (const choice of interleaved(rows)) yield chunk([choice], null)
  if (withUsage) yield chunk([], usageOf(usage))
}

function* choiceChunks(candidate: Candidate, which: Which): Generator<JsonObject> {
  const { reasoning, text, calls, finish } = candidate
  const choice = (delta: JsonObject, finish_reason: string | null = null): JsonObject => {
    return { index: which.index, delta, logprobs: null, finish_reason }
  }
  yield choice({ role: "assistant", content: calls.length > 0 ? null : "", refusal: null })
  for (const token of reasoning) yield choice({ reasoning_content: token })
  for (const token of text) yield choice({ content: token })
  for (const [at, call] of calls.entries()) {
    yield choice({ tool_calls: [{ index: at, ...opened(call, { ...which, at }) }] })
    for (const token of call.tokens) yield choice({ tool_calls: [{ index: at, function: { arguments: token } }] })
  }
  yield choice({}, FINISH_REASONS[finish])
}

/** Here the prompt includes what was cached, and the completion the reasoning. */
function usageOf({ fresh, read, output, reasoning }: SimulatedUsage): JsonObject {
  const prompt = fresh + read
  return {
    prompt_tokens: prompt,
    completion_tokens: output + reasoning,
    total_tokens: prompt + output + reasoning,
    prompt_tokens_details: { cached_tokens: read, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
