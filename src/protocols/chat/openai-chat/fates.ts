// The fate of each setting in a chat completions request.
import type { SettingFates } from "../../../canonical/setting-fates.ts"

export const fates: SettingFates = {
  maxOutputTokens: { fate: "mapped", note: "`max_completion_tokens` for models that reason, otherwise `max_tokens`" },
  temperature: { fate: "mapped", note: "`temperature`" },
  topP: { fate: "mapped", note: "`top_p`" },
  topK: { fate: "dropped", note: "OpenAI refuses `top_k`" },
  frequencyPenalty: { fate: "mapped", note: "`frequency_penalty`" },
  presencePenalty: { fate: "mapped", note: "`presence_penalty`" },
  stop: { fate: "mapped", note: "`stop`; more than four sequences are refused" },
  seed: { fate: "mapped", note: "`seed`" },
  candidates: { fate: "mapped", note: "`n`" },
  logprobs: { fate: "mapped", note: "`logprobs` and `top_logprobs`; at most 20 alternatives" },
  format: { fate: "mapped", note: "`response_format`" },
  reasoning: {
    fate: "approximated",
    note: "`reasoning_effort`; a token budget becomes the nearest level, and whether reasoning is shown is not set",
  },
  parallelToolCalls: { fate: "mapped", note: "`parallel_tool_calls`, if there are tools" },
  verbosity: { fate: "mapped", note: "`verbosity`" },
  modalities: {
    fate: "refused",
    note: "images are; audio uses a voice that the gateway chooses, and text is the default",
  },
  cacheKey: { fate: "mapped", note: "`prompt_cache_key`" },
  endUser: { fate: "mapped", note: "`user`" },
}
