// The fate of each setting in a generateContent request.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`generationConfig.maxOutputTokens`" },
  temperature: { fate: "mapped", note: "`generationConfig.temperature`" },
  topP: { fate: "mapped", note: "`generationConfig.topP`" },
  topK: { fate: "mapped", note: "`generationConfig.topK`" },
  frequencyPenalty: { fate: "mapped", note: "`generationConfig.frequencyPenalty`" },
  presencePenalty: { fate: "mapped", note: "`generationConfig.presencePenalty`" },
  stop: { fate: "mapped", note: "`generationConfig.stopSequences`; more than five are refused" },
  seed: { fate: "mapped", note: "`generationConfig.seed`; a seed of more than 31 bits is shortened, and reported" },
  candidates: { fate: "mapped", note: "`generationConfig.candidateCount`" },
  logprobs: { fate: "mapped", note: "`generationConfig.responseLogprobs` and `logprobs`" },
  format: {
    fate: "mapped",
    note: "`generationConfig.responseMimeType` and `responseJsonSchema`; keywords the vendor lacks are left out, and reported",
  },
  reasoning: {
    fate: "approximated",
    note: "`generationConfig.thinkingConfig`: a level from Gemini 3 on, a token budget before; reasoning is shown as a summary",
  },
  parallelToolCalls: { fate: "dropped", note: "parallel tool calls cannot be disabled" },
  verbosity: { fate: "dropped", note: "there is no verbosity setting" },
  modalities: { fate: "mapped", note: "`generationConfig.responseModalities`" },
  cacheKey: { fate: "dropped", note: "the vendor finds cached prompts on its own" },
  endUser: { fate: "dropped", note: "there is no such member" },
}
