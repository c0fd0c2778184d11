// The simulator speaking Anthropic's messages, and counting their tokens.
import type { Json, JsonObject } from "../../canonical/json.ts"
import { digest, opaqueText } from "../digest.ts"
import { NAMED_EVENTS } from "../playback/event-framing.ts"
import { pieceTokens } from "../prompt-cache.ts"
import {
  chargeOf,
  nameTokens,
  type SimulatedAnswer,
  type SimulatedCandidate,
  type SimulatedUsage,
  simulate,
} from "../simulate-answer.ts"
import type { SimulatedCall, SimulatedEndpoint, SimulatedEvent, SimulatedReply } from "../simulated-call.ts"
import { anthropicErrorFormat } from "./anthropic-error.ts"
import { readMessagesRequest, readPrompt } from "./anthropic-messages-request.ts"
import { object } from "./json-members.ts"

export const anthropicMessages: SimulatedEndpoint = { errorFormat: () => anthropicErrorFormat, answer }
export const anthropicCountTokens: SimulatedEndpoint = { errorFormat: () => anthropicErrorFormat, answer: count }

function count({ body }: SimulatedCall): SimulatedReply {
  const input_tokens = readPrompt(body).prompt.reduce((total, piece) => total + pieceTokens(piece), 0)
  return { whole: { input_tokens } }
}

function answer({ id, body, cache }: SimulatedCall): SimulatedReply {
  const request = readMessagesRequest(body)
  const simulated = simulate(request, { id, cache, caching: "marked" })
  const hidden = object(body.thinking).display === "omitted"
  const blocks = simulated.candidates.flatMap((candidate) => blocksOf(candidate, { seed: simulated.seed, hidden }))
  const message = {
    model: request.model,
    id: `msg_01${digest(simulated.seed, 22)}`,
    type: "message",
    role: "assistant",
    content: blocks.map(({ block }) => block),
    ...stopOf(simulated),
    usage: usageOf(simulated.usage),
  }
  const charge = chargeOf(simulated.usage, message)
  if (body.stream !== true) return { whole: message, charge }
  return { events: events(message, blocks), framing: NAMED_EVENTS, charge }
}

/** A finished content block, its empty members at the start, and the deltas between. */
interface SimulatedBlock {
  readonly block: JsonObject
  readonly emptyMembers: JsonObject
  /** Tokens that the opening event counts. */
  readonly opening: number
  readonly deltas: readonly SimulatedDelta[]
}

interface SimulatedDelta {
  readonly delta: JsonObject
  readonly tokens: number
}

function blocksOf(
  candidate: SimulatedCandidate,
  { seed, hidden }: { seed: string; hidden: boolean },
): SimulatedBlock[] {
  const { reasoning, text, calls } = candidate
  const blocks: SimulatedBlock[] = []
  if (reasoning.length > 0) blocks.push(thinkingBlock(reasoning, { signature: opaqueText(`${seed} thinking`), hidden }))
  if (text.length > 0) {
    blocks.push({
      block: { type: "text", text: text.join("") },
      emptyMembers: { text: "" },
      opening: 0,
      deltas: text.map((token) => ({ delta: { type: "text_delta", text: token }, tokens: 1 })),
    })
  }
  for (const [at, { name, input, tokens }] of calls.entries()) {
    const id = `toolu_01${digest(`${seed} ${at}`, 22)}`
    blocks.push({
      block: { type: "tool_use", id, name, input, caller: { type: "direct" } },
      emptyMembers: { input: {} },
      opening: nameTokens({ name }),
      deltas: ["", ...tokens].map((partial_json) => {
        return { delta: { type: "input_json_delta", partial_json }, tokens: partial_json === "" ? 0 : 1 }
      }),
    })
  }
  return blocks
}

function thinkingBlock(
  thoughts: readonly string[],
  { signature, hidden }: { signature: string; hidden: boolean },
): SimulatedBlock {
  const shown = hidden ? [] : thoughts
  const thinkingDeltas = shown.map((thinking) => ({ delta: { type: "thinking_delta", thinking }, tokens: 1 }))
  const signed = { delta: { type: "signature_delta", signature }, tokens: thoughts.length - shown.length }
  return {
    block: { type: "thinking", thinking: shown.join(""), signature },
    emptyMembers: { thinking: "", signature: "" },
    opening: 0,
    deltas: [...thinkingDeltas, signed],
  }
}

const STOP_REASONS = {
  stop: "end_turn",
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  "tool-calls": "tool_use",
} as const

function stopOf({ candidates }: SimulatedAnswer): JsonObject {
  const { finish, stopSequence = null } = candidates[0] ?? { finish: "stop" }
  return { stop_reason: STOP_REASONS[finish], stop_sequence: stopSequence, stop_details: null }
}

function* events(message: JsonObject, blocks: readonly SimulatedBlock[]): Generator<SimulatedEvent> {
  const { stop_reason = null, stop_sequence = null, stop_details = null } = message
  const usage = object(message.usage)
  const begun = { content: [], stop_reason: null, stop_sequence: null, usage: { ...startUsage(usage) } }
  yield silentEvent({ type: "message_start", message: { ...message, ...begun } })
  if (blocks.length === 0) yield silentEvent({ type: "ping" })
  for (const [index, { block, emptyMembers, opening, deltas }] of blocks.entries()) {
    const start = { type: "content_block_start", index, content_block: { ...block, ...emptyMembers } }
    yield { event: start, tokens: opening }
    if (index === 0) yield silentEvent({ type: "ping" })
    for (const { delta, tokens } of deltas) yield { event: { type: "content_block_delta", index, delta }, tokens }
    yield silentEvent({ type: "content_block_stop", index })
  }
  const { service_tier: _, cache_creation: __, ...counted } = usage
  const delta = { stop_reason, stop_sequence, stop_details }
  yield { event: { type: "message_delta", delta, usage: counted }, tokens: 0, isFinal: true }
  yield silentEvent({ type: "message_stop" })
}

function silentEvent(event: JsonObject): SimulatedEvent {
  return { event, tokens: 0 }
}

/** Usage when a message starts: its input, and no output yet. */
function startUsage({ output_tokens_details: _, ...usage }: JsonObject): JsonObject {
  return { ...usage, output_tokens: 0 }
}

/** Anthropic's input excludes cached tokens, and its output includes the thinking. */
function usageOf({ fresh, read, written, writtenLong, output, reasoning }: SimulatedUsage): JsonObject {
  const cache_creation: Json = { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: writtenLong }
  return {
    input_tokens: fresh,
    cache_creation_input_tokens: written + writtenLong,
    cache_read_input_tokens: read,
    cache_creation,
    output_tokens: output + reasoning,
    ...(reasoning > 0 && { output_tokens_details: { thinking_tokens: reasoning } }),
    service_tier: "standard",
  }
}
