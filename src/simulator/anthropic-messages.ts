// The simulator speaking Anthropic's messages, and counting their tokens.
import type { Json, JsonObject } from "../canonical/json.ts"
import { readMessagesRequest, readPrompt } from "./anthropic-messages-request.ts"
import type { Refusal, SimulatedCall, SimulatedEndpoint } from "./call.ts"
import { type Candidate, type SimulatedAnswer, type SimulatedUsage, simulate } from "./core.ts"
import { digest, seal } from "./digest.ts"
import { object } from "./json-members.ts"
import { pieceTokens } from "./prompt-cache.ts"
import { eventStream } from "./pulled-stream.ts"

export const anthropicMessages: SimulatedEndpoint = { answer, refuse }
export const anthropicCountTokens: SimulatedEndpoint = { answer: count, refuse }

function refuse({ message }: Refusal): Response {
  const error = { type: "invalid_request_error", message }
  return Response.json({ type: "error", error, request_id: `req_${digest(message, 24)}` }, { status: 400 })
}

function count({ body }: SimulatedCall): Response {
  const input_tokens = readPrompt(body).prompt.reduce((total, piece) => total + pieceTokens(piece), 0)
  return Response.json({ input_tokens })
}

function answer({ body, cache, signal }: SimulatedCall): Response {
  const request = readMessagesRequest(body)
  const simulated = simulate(request, { cache, caching: "marked" })
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
  if (body.stream !== true) return Response.json(message)
  return eventStream(events(message, blocks), { signal, named: true })
}

/** A content block as it ends, as it begins, and the deltas between. */
interface Block {
  readonly block: JsonObject
  readonly unsaid: JsonObject
  readonly deltas: readonly JsonObject[]
}

function blocksOf(candidate: Candidate, { seed, hidden }: { seed: string; hidden: boolean }): Block[] {
  const { reasoning, text, calls } = candidate
  const blocks: Block[] = []
  if (reasoning.length > 0) blocks.push(thinkingBlock(hidden ? [] : reasoning, seal(`${seed} thinking`)))
  if (text.length > 0) {
    blocks.push({
      block: { type: "text", text: text.join("") },
      unsaid: { text: "" },
      deltas: text.map((token) => ({ type: "text_delta", text: token })),
    })
  }
  for (const [at, { name, input, tokens }] of calls.entries()) {
    const id = `toolu_01${digest(`${seed} ${at}`, 22)}`
    blocks.push({
      block: { type: "tool_use", id, name, input, caller: { type: "direct" } },
      unsaid: { input: {} },
      deltas: ["", ...tokens].map((partial_json) => ({ type: "input_json_delta", partial_json })),
    })
  }
  return blocks
}

function thinkingBlock(tokens: readonly string[], signature: string): Block {
  const said = tokens.map((thinking) => ({ type: "thinking_delta", thinking }))
  return {
    block: { type: "thinking", thinking: tokens.join(""), signature },
    unsaid: { thinking: "", signature: "" },
    deltas: [...said, { type: "signature_delta", signature }],
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

function* events(message: JsonObject, blocks: readonly Block[]): Generator<JsonObject> {
  const { stop_reason = null, stop_sequence = null, stop_details = null } = message
  const usage = object(message.usage)
  const begun = { content: [], stop_reason: null, stop_sequence: null, usage: { ...startUsage(usage) } }
  yield { type: "message_start", message: { ...message, ...begun } }
  if (blocks.length === 0) yield { type: "ping" }
  for (const [index, { block, unsaid, deltas }] of blocks.entries()) {
    yield { type: "content_block_start", index, content_block: { ...block, ...unsaid } }
    if (index === 0) yield { type: "ping" }
    for (const delta of deltas) yield { type: "content_block_delta", index, delta }
    yield { type: "content_block_stop", index }
  }
  const { service_tier: _, cache_creation: __, ...counted } = usage
  yield { type: "message_delta", delta: { stop_reason, stop_sequence, stop_details }, usage: counted }
  yield { type: "message_stop" }
}

/** When a message starts, its input is known and none of its output. */
function startUsage({ output_tokens_details: _, ...usage }: JsonObject): JsonObject {
  return { ...usage, output_tokens: 0 }
}

/** Here the input excludes what was cached, and the output includes the thinking. */
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
