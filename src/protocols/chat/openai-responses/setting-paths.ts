// The path of each setting in a request of this protocol; empty if it has no such setting.
import type { SettingPathTable } from "../../chat-codec.ts"

export const places: SettingPathTable = {
  maxOutputTokens: "max_output_tokens",
  temperature: "temperature",
  topP: "top_p",
  topK: "",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  stop: "",
  seed: "",
  candidates: "",
  logprobs: "top_logprobs",
  format: "text.format",
  reasoning: "reasoning",
  parallelToolCalls: "parallel_tool_calls",
  verbosity: "text.verbosity",
  modalities: "",
  cacheKey: "prompt_cache_key",
  endUser: "safety_identifier",
  "reasoning.show": "reasoning.summary",
}
