// Where each setting stands in a request of this protocol; empty where it has no word for it.
import type { Places } from "../codec.ts"

export const places: Places = {
  maxOutputTokens: "max_completion_tokens",
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
  reasoning: "reasoning_effort",
  parallelToolCalls: "parallel_tool_calls",
  verbosity: "verbosity",
  modalities: "modalities",
  cacheKey: "prompt_cache_key",
  endUser: "user",
  "reasoning.effort": "reasoning_effort",
  "reasoning.budgetTokens": "reasoning_effort",
  "format.name": "response_format.json_schema.name",
  "format.schema": "response_format.json_schema.schema",
  "format.strict": "response_format.json_schema.strict",
}
