// The fate of each setting in a Converse request.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`inferenceConfig.maxTokens`, at most the model's output limit" },
  temperature: {
    fate: "approximated",
    note: "`inferenceConfig.temperature`, at most 1; left out while Claude reasons",
  },
  topP: {
    fate: "approximated",
    note: "`inferenceConfig.topP`; for Claude left out if a temperature is set, and while it reasons",
  },
  topK: { fate: "approximated", note: "`additionalModelRequestFields`, for the models known to support it" },
  frequencyPenalty: { fate: "dropped", note: "penalties are not supported" },
  presencePenalty: { fate: "dropped", note: "penalties are not supported" },
  stop: { fate: "mapped", note: "`inferenceConfig.stopSequences`; for Claude except those of only white space" },
  seed: { fate: "dropped", note: "seeds are not supported" },
  candidates: { fate: "refused", note: "only one candidate per request" },
  logprobs: { fate: "refused", note: "the interface returns no log probabilities" },
  format: {
    fate: "approximated",
    note: "`outputConfig.textFormat` or a required tool, depending on the model; otherwise, and for JSON without a schema, the prompt",
  },
  reasoning: { fate: "approximated", note: "`additionalModelRequestFields`, in the form of the model's vendor" },
  parallelToolCalls: { fate: "dropped", note: "models may call several tools at once" },
  verbosity: { fate: "dropped", note: "verbosity cannot be set" },
  modalities: { fate: "refused", note: "responses are text only" },
  cacheKey: { fate: "dropped", note: "prompts are cached at marks, not by key" },
  endUser: { fate: "dropped", note: "the interface has no end-user member" },
}
