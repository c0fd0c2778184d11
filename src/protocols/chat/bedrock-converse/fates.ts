// What becomes of each setting in a Converse request.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`inferenceConfig.maxTokens`, at most what the model puts out" },
  temperature: { fate: "approximated", note: "`inferenceConfig.temperature`, at most 1; left out while Claude thinks" },
  topP: {
    fate: "approximated",
    note: "`inferenceConfig.topP`; left out beside a temperature for Claude, and while it thinks",
  },
  topK: { fate: "approximated", note: "`additionalModelRequestFields`, for the models known to take it" },
  frequencyPenalty: { fate: "dropped", note: "there are no penalties" },
  presencePenalty: { fate: "dropped", note: "there are no penalties" },
  stop: { fate: "mapped", note: "`inferenceConfig.stopSequences`; for Claude without those of white space alone" },
  seed: { fate: "dropped", note: "answers cannot be repeated" },
  candidates: { fate: "refused", note: "there is one answer to a request" },
  logprobs: { fate: "refused", note: "the interface tells no probabilities" },
  format: {
    fate: "approximated",
    note: "`outputConfig.textFormat`, or a tool that must be called, by model; else, and for JSON without a schema, words",
  },
  reasoning: { fate: "approximated", note: "`additionalModelRequestFields`, in the word the model's maker has for it" },
  parallelToolCalls: { fate: "dropped", note: "models may call several tools at once" },
  verbosity: { fate: "dropped", note: "how much is said cannot be set" },
  modalities: { fate: "refused", note: "answers are text" },
  cacheKey: { fate: "dropped", note: "prompts are cached at marks, not by key" },
  endUser: { fate: "dropped", note: "the interface is not told who asks" },
}
