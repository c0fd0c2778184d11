// The simulator speaking OpenAI's chat completions.
import type { Json, JsonObject } from "../canonical/json.ts"
import type { SimulatedCall, SimulatedEndpoint, SimulatedEvent, SimulatedReply } from "./call.ts"
import {
  type Candidate,
  chargeOf,
  nameTokens,
  type SimulatedAnswer,
  type SimulatedUsage,
  simulate,
  type ToolCall,
} from "./core.ts"
import { digest } from "./digest.ts"
import { EVENTS_UNTIL_DONE, interleaved } from "./framing.ts"
import { object } from "./json-members.ts"
import { readChatRequest } from "./openai-chat-request.ts"
import { openaiVoice } from "./openai-error.ts"

export const openaiChat: SimulatedEndpoint = { voice: () => openaiVoice, answer }

function answer({ id, body, cache }: SimulatedCall): SimulatedReply {
  const request = readChatRequest(body)
  const simulated = simulate(request, { id, cache, caching: "implicit" })
  const head = {
    id: `chatcmpl-${digest(simulated.seed, 29)}`,
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    service_tier: "default",
    system_fingerprint: `fp_${digest(request.model, 10)}`,
  }
  const charge = chargeOf(simulated.usage, head)
  if (body.stream !== true) return { whole: unary(head, simulated), charge }
  const withUsage = object(body.stream_options).include_usage === true
  return { events: chunks(head, simulated, { withUsage }), framing: EVENTS_UNTIL_DONE, charge }
}

const FINISH_REASONS = {
  stop: "stop",
  "stop-sequence": "stop",
  length: "length",
  "tool-calls": "tool_calls",
} as const

function unary(head: JsonObject, { seed, candidates, usage }: SimulatedAnswer): JsonObject {
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
): Generator<SimulatedEvent> {
  const chunk = (choices: Json, said: JsonObject | null): JsonObject => {
    return { ...head, object: "chat.completion.chunk", choices, ...(withUsage && { usage: said }) }
  }
  const rows = candidates.map((candidate, index) => choiceChunks(candidate, { seed, index }))
  for (const { choice, tokens } of interleaved(rows)) yield { event: chunk([choice], null), tokens }
  if (withUsage) yield { event: chunk([], usageOf(usage)), tokens: 0, isFinal: true }
}

interface SaidChoice {
  readonly choice: JsonObject
  readonly tokens: number
}

function* choiceChunks(candidate: Candidate, which: Which): Generator<SaidChoice> {
  const { reasoning, text, calls, finish } = candidate
  const { index } = which
  const said = (delta: JsonObject, tokens: number): SaidChoice => {
    return { choice: { index, delta, logprobs: null, finish_reason: null }, tokens }
  }
  yield said({ role: "assistant", content: calls.length > 0 ? null : "", refusal: null }, 0)
  for (const token of reasoning) yield said({ reasoning_content: token }, 1)
  for (const token of text) yield said({ content: token }, 1)
  for (const [at, call] of calls.entries()) {
    yield said({ tool_calls: [{ index: at, ...opened(call, { ...which, at }) }] }, nameTokens(call))
    for (const token of call.tokens) yield said({ tool_calls: [{ index: at, function: { arguments: token } }] }, 1)
  }
  yield { choice: { index, delta: {}, logprobs: null, finish_reason: FINISH_REASONS[finish] }, tokens: 0 }
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
