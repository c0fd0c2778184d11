// The simulator speaking OpenAI's responses: the response object, whole or streamed.
import type { Json, JsonObject } from "../../canonical/json.ts"
import { digest, opaqueText } from "../digest.ts"
import { NAMED_EVENTS } from "../playback/event-framing.ts"
import { chargeOf, nameTokens, type SimulatedAnswer, type SimulatedUsage, simulate } from "../simulate-answer.ts"
import type { SimulatedCall, SimulatedEndpoint, SimulatedReply } from "../simulated-call.ts"
import { object, objects } from "./json-members.ts"
import { openaiResponsesErrorFormat } from "./openai-error.ts"
import { readReasoning, readResponsesRequest } from "./openai-responses-request.ts"
import { type OutputItem, responseEvents } from "./openai-responses-stream.ts"

export const openaiResponses: SimulatedEndpoint = { errorFormat: () => openaiResponsesErrorFormat, answer }

function answer({ id: callId, body, cache }: SimulatedCall): SimulatedReply {
  const request = readResponsesRequest(body)
  const simulated = simulate(request, { id: callId, cache, caching: "implicit" })
  const items = outputItems(simulated, body)
  const id = `resp_${digest(simulated.seed, 48)}`
  const begun = { ...echoRequest(body), id, status: "in_progress", output: [] }
  const ended = { ...begun, ...endingMembers(simulated), output: items.map(({ item }) => item) }
  const charge = chargeOf(simulated.usage, { id, model: request.model })
  if (body.stream !== true) return { whole: ended, charge }
  return { events: responseEvents({ begun, items, ended }), framing: NAMED_EVENTS, charge }
}

function endingMembers({ candidates, usage }: SimulatedAnswer): JsonObject {
  const isCut = candidates[0]?.finish === "length"
  return {
    status: isCut ? "incomplete" : "completed",
    completed_at: isCut ? null : Math.floor(Date.now() / 1000),
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    service_tier: "default",
    usage: usageOf(usage),
  }
}

/** The answer's items, each with its tokens. */
function outputItems({ seed, candidates }: SimulatedAnswer, body: JsonObject): OutputItem[] {
  const items: OutputItem[] = []
  // As with the vendor, the ids of a response and of its items share a prefix.
  const idOf = (prefix: string, what: string): string => `${prefix}_${digest(seed, 24)}${digest(`${seed} ${what}`, 24)}`
  for (const { reasoning, text, calls, finish } of candidates) {
    const status = finish === "length" ? "incomplete" : "completed"
    if (reasoning.length > 0) items.push(reasoningItem(reasoning, { id: idOf("rs", "reasoning"), seed, body }))
    if (text.length > 0) {
      const content = [{ type: "output_text", annotations: [], logprobs: [], text: text.join("") }]
      const item = { id: idOf("msg", "message"), type: "message", status, content, role: "assistant" }
      items.push({ item, opening: 0, tokens: text })
    }
    for (const [at, { name, tokens }] of calls.entries()) {
      const ids = { id: idOf("fc", `item ${at}`), call_id: `call_${digest(`${seed} call ${at}`, 24)}` }
      const call = { type: "function_call", status: "completed", arguments: tokens.join(""), name }
      items.push({ item: { ...ids, ...call }, opening: nameTokens({ name }), tokens })
    }
  }
  return items
}

function reasoningItem(
  tokens: readonly string[],
  { id, seed, body }: { id: string; seed: string; body: JsonObject },
): OutputItem {
  const { withSummary, encrypted } = readReasoning(body)
  const summary = withSummary ? [{ type: "summary_text", text: tokens.join("") }] : []
  const encrypted_content = opaqueText(`${seed} reasoning`)
  const item = { id, type: "reasoning", ...(encrypted && { encrypted_content }), summary }
  // Hidden reasoning is generated before the item appears.
  return withSummary ? { item, opening: 0, tokens } : { item, opening: tokens.length, tokens: [] }
}

/** The members of a response object that do not depend on the answer. */
function echoRequest(body: JsonObject): JsonObject {
  const { effort = null, summary = null } = object(body.reasoning)
  const { format = { type: "text" }, verbosity = "medium" } = object(body.text)
  return {
    id: "",
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status: "in_progress",
    background: false,
    completed_at: null,
    error: null,
    frequency_penalty: body.frequency_penalty ?? 0,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: body.model ?? "",
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    presence_penalty: body.presence_penalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort, summary },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier ?? "auto",
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { format: format ?? { type: "text" }, verbosity: verbosity ?? "medium" },
    tool_choice: body.tool_choice ?? "auto",
    tools: objects(body.tools).map(echoTool),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    usage: null,
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  }
}

function echoTool(tool: JsonObject): Json {
  if (tool.type !== "function") return tool
  return {
    ...tool,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? true,
  }
}

/** OpenAI's input includes cached tokens, and its output includes reasoning. */
function usageOf({ fresh, read, output, reasoning }: SimulatedUsage): JsonObject {
  return {
    input_tokens: fresh + read,
    input_tokens_details: { cached_tokens: read },
    output_tokens: output + reasoning,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: fresh + read + output + reasoning,
  }
}
