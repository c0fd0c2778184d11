// Rules for completions bodies: refused members, and members with only one spelling.
import { guardBody } from "../../body-rules.ts"
import { ACCOUNT_OBJECTS, refusedAtTop } from "../../gateway-extension.ts"

export const bodyGuard = guardBody({
  members: [
    ...["model", "models", "fallbacks", "provider", "prompt", "max_tokens", "n", "best_of", "stream", "stream_options"],
    ...["temperature", "top_p", "frequency_penalty", "presence_penalty", "stop", "suffix", "echo", "logprobs", "user"],
  ],
  refused: refusedAtTop(["max_tokens"]),
  inside: { stream_options: { members: ["include_usage"] } },
  refusedAnywhere: ACCOUNT_OBJECTS,
  opaque: ["metadata"],
})
