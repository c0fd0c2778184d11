// The path of each setting in a request of this protocol; empty if it has no such setting.
import type { SettingPathTable } from "../../chat-codec.ts"

export const places: SettingPathTable = {
  maxOutputTokens: "generationConfig.maxOutputTokens",
  temperature: "generationConfig.temperature",
  topP: "generationConfig.topP",
  topK: "generationConfig.topK",
  frequencyPenalty: "generationConfig.frequencyPenalty",
  presencePenalty: "generationConfig.presencePenalty",
  stop: "generationConfig.stopSequences",
  seed: "generationConfig.seed",
  candidates: "generationConfig.candidateCount",
  logprobs: "generationConfig.logprobs",
  format: "generationConfig.responseJsonSchema",
  reasoning: "generationConfig.thinkingConfig",
  parallelToolCalls: "",
  verbosity: "",
  modalities: "generationConfig.responseModalities",
  cacheKey: "",
  endUser: "",
  "reasoning.effort": "generationConfig.thinkingConfig.thinkingLevel",
  "reasoning.budgetTokens": "generationConfig.thinkingConfig.thinkingBudget",
  "reasoning.show": "generationConfig.thinkingConfig.includeThoughts",
  "format.schema": "generationConfig.responseJsonSchema",
}
