// The fate of each setting in a responses request.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`max_output_tokens`; below 16 it becomes 16" },
  temperature: { fate: "mapped", note: "`temperature`, if the model allows setting it" },
  topP: { fate: "mapped", note: "`top_p`, if the model allows setting it" },
  topK: { fate: "dropped", note: "the responses interface has no `top_k`" },
  frequencyPenalty: { fate: "dropped", note: "the responses interface has no penalties" },
  presencePenalty: { fate: "dropped", note: "the responses interface has no penalties" },
  stop: { fate: "refused", note: "the responses interface has no stop sequences" },
  seed: { fate: "dropped", note: "the responses interface has no seed" },
  candidates: { fate: "refused", note: "the responses interface returns one candidate" },
  logprobs: { fate: "mapped", note: "`top_logprobs`; at most 20 alternatives" },
  format: { fate: "mapped", note: "`text.format`" },
  reasoning: {
    fate: "approximated",
    note: "`reasoning`; a token budget becomes the nearest level, and reasoning is shown as a summary",
  },
  parallelToolCalls: { fate: "mapped", note: "`parallel_tool_calls`, if there are tools" },
  verbosity: { fate: "mapped", note: "`text.verbosity`" },
  modalities: { fate: "refused", note: "the responses interface returns text only" },
  cacheKey: { fate: "mapped", note: "`prompt_cache_key`, if it has at most 64 characters" },
  endUser: { fate: "mapped", note: "`safety_identifier`, if it has at most 64 characters" },
}
