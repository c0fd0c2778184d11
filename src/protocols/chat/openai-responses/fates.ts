// What becomes of each setting on its way to a provider of the responses interface.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`max_output_tokens`; below 16 it becomes 16" },
  temperature: { fate: "mapped", note: "`temperature`, where the model lets it be set" },
  topP: { fate: "mapped", note: "`top_p`, where the model lets it be set" },
  topK: { fate: "dropped", note: "the responses interface has no `top_k`" },
  frequencyPenalty: { fate: "dropped", note: "the responses interface has no penalties" },
  presencePenalty: { fate: "dropped", note: "the responses interface has no penalties" },
  stop: { fate: "refused", note: "the responses interface has no stop sequences" },
  seed: { fate: "dropped", note: "the responses interface has no seed" },
  candidates: { fate: "refused", note: "the responses interface gives one answer" },
  logprobs: { fate: "mapped", note: "`top_logprobs`; at most 20 alternatives" },
  format: { fate: "mapped", note: "`text.format`" },
  reasoning: {
    fate: "approximated",
    note: "`reasoning`; a number of tokens becomes the nearest word, what is shown is a summary",
  },
  parallelToolCalls: { fate: "mapped", note: "`parallel_tool_calls`, where there are tools" },
  verbosity: { fate: "mapped", note: "`text.verbosity`" },
  modalities: { fate: "refused", note: "the responses interface answers in text" },
  cacheKey: { fate: "mapped", note: "`prompt_cache_key`, where it has at most 64 characters" },
  endUser: { fate: "mapped", note: "`safety_identifier`, where it has at most 64 characters" },
}
