// The fate of each setting in a messages request.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`max_tokens`; the model's own limit if none is set" },
  temperature: { fate: "approximated", note: "`temperature`, at most 1; left out while the model reasons" },
  topP: { fate: "approximated", note: "`top_p`; left out if a temperature is set, and while the model reasons" },
  topK: { fate: "approximated", note: "`top_k`; left out while the model reasons" },
  frequencyPenalty: { fate: "dropped", note: "penalties are not supported" },
  presencePenalty: { fate: "dropped", note: "penalties are not supported" },
  stop: { fate: "approximated", note: "`stop_sequences`, except those of only white space" },
  seed: { fate: "dropped", note: "seeds are not supported" },
  candidates: { fate: "refused", note: "only one candidate per request" },
  logprobs: { fate: "refused", note: "the vendor returns no log probabilities" },
  format: { fate: "approximated", note: "`output_config.format`; JSON without a schema is requested in the prompt" },
  reasoning: { fate: "approximated", note: "`thinking` and `output_config.effort`, if the model reasons" },
  parallelToolCalls: { fate: "mapped", note: "`tool_choice.disable_parallel_tool_use`" },
  verbosity: { fate: "dropped", note: "verbosity cannot be set" },
  modalities: { fate: "refused", note: "responses are text only" },
  cacheKey: { fate: "dropped", note: "prompts are cached at marks, not by key" },
  endUser: { fate: "mapped", note: "`metadata.user_id`" },
}
