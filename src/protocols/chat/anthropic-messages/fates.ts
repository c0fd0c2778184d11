// What becomes of each setting in a messages request.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`max_tokens`; the model's own limit where none is given" },
  temperature: { fate: "approximated", note: "`temperature`, at most 1; left out while the model thinks" },
  topP: { fate: "approximated", note: "`top_p`; left out beside a temperature, and while the model thinks" },
  topK: { fate: "approximated", note: "`top_k`; left out while the model thinks" },
  frequencyPenalty: { fate: "dropped", note: "there are no penalties" },
  presencePenalty: { fate: "dropped", note: "there are no penalties" },
  stop: { fate: "approximated", note: "`stop_sequences`, without those of white space alone" },
  seed: { fate: "dropped", note: "answers cannot be repeated" },
  candidates: { fate: "refused", note: "there is one answer to a request" },
  logprobs: { fate: "refused", note: "the vendor tells no probabilities" },
  format: { fate: "approximated", note: "`output_config.format`; JSON without a schema is asked for in words" },
  reasoning: { fate: "approximated", note: "`thinking` and `output_config.effort`, where the model reasons" },
  parallelToolCalls: { fate: "mapped", note: "`tool_choice.disable_parallel_tool_use`" },
  verbosity: { fate: "dropped", note: "how much is said cannot be set" },
  modalities: { fate: "refused", note: "answers are text" },
  cacheKey: { fate: "dropped", note: "prompts are cached at marks, not by key" },
  endUser: { fate: "mapped", note: "`metadata.user_id`" },
}
