// The simulator speaking OpenAI's chat completions.
import type { Json, JsonObject } from "../../canonical/json.ts"
import { digest } from "../digest.ts"
import { EVENTS_UNTIL_DONE, interleave } from "../playback/event-framing.ts"
import {
  chargeOf,
  nameTokens,
  type SimulatedAnswer,
  type SimulatedCandidate,
  type SimulatedToolCall,
  type SimulatedUsage,
  simulate,
} from "../simulate-answer.ts"
import type { SimulatedCall, SimulatedEndpoint, SimulatedEvent, SimulatedReply } from "../simulated-call.ts"
import { object } from "./json-members.ts"
import { isLegacyRequest, readChatRequest } from "./openai-chat-request.ts"
import { openaiErrorFormat } from "./openai-error.ts"

export const openaiChat: SimulatedEndpoint = { errorFormat: () => openaiErrorFormat, answer }

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
  const isLegacy = isLegacyRequest(body)
  if (body.stream !== true) return { whole: wholeCompletion(head, simulated, isLegacy), charge }
  const withUsage = object(body.stream_options).include_usage === true
  return { events: chunks(head, simulated, { withUsage, isLegacy }), framing: EVENTS_UNTIL_DONE, charge }
}

const FINISH_REASONS = {
  stop: "stop",
  "stop-sequence": "stop",
  length: "length",
  "tool-calls": "tool_calls",
} as const

function wholeCompletion(
  head: JsonObject,
  { seed, candidates, usage }: SimulatedAnswer,
  isLegacy: boolean,
): JsonObject {
  const choices = candidates.map((candidate, index) => ({
    index,
    message: message(candidate, { seed, index, isLegacy }),
    logprobs: null,
    finish_reason: finishReason(candidate, isLegacy),
  }))
  return { ...head, object: "chat.completion", choices, usage: usageOf(usage) }
}

/** The legacy form has its own finish reason for a call. */
function finishReason({ finish }: SimulatedCandidate, isLegacy: boolean): string {
  return isLegacy && finish === "tool-calls" ? "function_call" : FINISH_REASONS[finish]
}

interface ChoiceScene {
  readonly seed: string
  readonly index: number
  readonly isLegacy: boolean
}

function message({ reasoning, text, calls }: SimulatedCandidate, which: ChoiceScene): JsonObject {
  return {
    role: "assistant",
    content: calls.length > 0 ? null : text.join(""),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join("") }),
    refusal: null,
    annotations: [],
    ...calledMember(calls, which),
  }
}

function calledMember(calls: readonly SimulatedToolCall[], which: ChoiceScene): JsonObject {
  const [first] = calls
  if (!first) return {}
  if (which.isLegacy) return { function_call: wholeCall(first) }
  return { tool_calls: calls.map((call, at) => ({ ...openedCall(call, { ...which, at }), function: wholeCall(call) })) }
}

function openedCall({ name }: SimulatedToolCall, { seed, index, at }: ChoiceScene & { at: number }) {
  return { id: `call_${digest(`${seed} ${index} ${at}`, 24)}`, type: "function", function: { name, arguments: "" } }
}

function wholeCall({ name, tokens }: SimulatedToolCall): JsonObject {
  return { name, arguments: tokens.join("") }
}

function* chunks(
  head: JsonObject,
  { seed, candidates, usage }: SimulatedAnswer,
  { withUsage, isLegacy }: { withUsage: boolean; isLegacy: boolean },
): Generator<SimulatedEvent> {
  const chunk = (choices: Json, chunkUsage: JsonObject | null): JsonObject => {
    return { ...head, object: "chat.completion.chunk", choices, ...(withUsage && { usage: chunkUsage }) }
  }
  const rows = candidates.map((candidate, index) => choiceChunks(candidate, { seed, index, isLegacy }))
  for (const { choice, tokens } of interleave(rows)) yield { event: chunk([choice], null), tokens }
  if (withUsage) yield { event: chunk([], usageOf(usage)), tokens: 0, isFinal: true }
}

interface ChoiceChunk {
  readonly choice: JsonObject
  readonly tokens: number
}

function* choiceChunks(candidate: SimulatedCandidate, which: ChoiceScene): Generator<ChoiceChunk> {
  const { reasoning, text, calls } = candidate
  const { index, isLegacy } = which
  const build: BuildChoiceChunk = (delta, tokens) => {
    return { choice: { index, delta, logprobs: null, finish_reason: null }, tokens }
  }
  yield build({ role: "assistant", content: calls.length > 0 ? null : "", refusal: null }, 0)
  for (const token of reasoning) yield build({ reasoning_content: token }, 1)
  for (const token of text) yield build({ content: token }, 1)
  if (isLegacy && calls[0]) yield* legacyCall(calls[0], build)
  for (const [at, call] of isLegacy ? [] : calls.entries()) {
    yield build({ tool_calls: [{ index: at, ...openedCall(call, { ...which, at }) }] }, nameTokens(call))
    for (const token of call.tokens) yield build({ tool_calls: [{ index: at, function: { arguments: token } }] }, 1)
  }
  yield { choice: { index, delta: {}, logprobs: null, finish_reason: finishReason(candidate, isLegacy) }, tokens: 0 }
}

type BuildChoiceChunk = (delta: JsonObject, tokens: number) => ChoiceChunk

function* legacyCall(call: SimulatedToolCall, build: BuildChoiceChunk): Generator<ChoiceChunk> {
  yield build({ function_call: { name: call.name, arguments: "" } }, nameTokens(call))
  for (const token of call.tokens) yield build({ function_call: { arguments: token } }, 1)
}

/** OpenAI's prompt count includes cached tokens, and its completion count includes reasoning. */
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
