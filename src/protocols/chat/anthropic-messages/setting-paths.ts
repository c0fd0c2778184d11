// The path of each setting in a request of this protocol; empty if it has no such setting.
import type { SettingPathTable } from "../../chat-codec.ts"

export const places: SettingPathTable = {
  maxOutputTokens: "max_tokens",
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  frequencyPenalty: "",
  presencePenalty: "",
  stop: "stop_sequences",
  seed: "",
  candidates: "",
  logprobs: "",
  format: ["output_config.format", "output_format"],
  reasoning: "thinking",
  parallelToolCalls: "tool_choice.disable_parallel_tool_use",
  verbosity: "",
  modalities: "",
  cacheKey: "",
  endUser: "metadata.user_id",
  "reasoning.effort": "output_config.effort",
  "reasoning.budgetTokens": "thinking.budget_tokens",
  "reasoning.show": "thinking.display",
}
