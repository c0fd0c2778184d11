// The path of each setting in a request of this protocol; empty if it has no such setting.
import type { SettingPathTable } from "../../chat-codec.ts"

/** OpenAI's member, and those of other gateways and hosts. */
const REASONING = ["reasoning_effort", "reasoning", "thinking", "extra_body"]

export const places: SettingPathTable = {
  maxOutputTokens: ["max_completion_tokens", "max_tokens"],
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  stop: "stop",
  seed: "seed",
  candidates: "n",
  logprobs: "logprobs",
  format: "response_format",
  reasoning: REASONING,
  parallelToolCalls: "parallel_tool_calls",
  verbosity: "verbosity",
  modalities: "modalities",
  cacheKey: "prompt_cache_key",
  endUser: ["user", "safety_identifier"],
  "reasoning.effort": REASONING,
  "reasoning.budgetTokens": REASONING,
  "format.name": "response_format.json_schema.name",
  "format.schema": "response_format.json_schema.schema",
  "format.strict": "response_format.json_schema.strict",
}
