// Rules for chat completions bodies: refused members, and members with only one spelling.
import { isObject } from "../../../canonical/json.ts"
import { guardBody, type ValueRefusal } from "../../body-rules.ts"
import { ACCOUNT_OBJECTS, accountObject, refusedAtTop, toolModel } from "../../gateway-extension.ts"

/** An assistant's earlier audio, or a voice, stored in the account. */
const heldAudio: ValueRefusal = (value, holder) =>
  isObject(value) && value.id !== undefined && value.id !== null ? accountObject(value, holder)?.under("id") : undefined

export const bodyGuard = guardBody({
  members: [
    ...["model", "models", "fallbacks", "provider", "messages", "tools", "tool_choice", "functions", "function_call"],
    ...["max_tokens", "max_completion_tokens", "n", "best_of", "stream", "stream_options", "stop", "store"],
    ...["temperature", "top_p", "frequency_penalty", "presence_penalty", "response_format", "service_tier"],
    ...["user", "safety_identifier", "prompt_cache_key", "metadata", "modalities", "audio", "web_search_options"],
    ...["thinking", "reasoning", "reasoning_effort", "logprobs", "top_logprobs", "parallel_tool_calls", "prediction"],
  ],
  refused: refusedAtTop(["max_tokens", "max_completion_tokens"]),
  inside: {
    stream_options: { members: ["include_usage"] },
    thinking: { members: ["type", "budget_tokens"] },
    reasoning: { members: ["effort", "max_tokens", "enabled", "exclude"] },
    response_format: { members: ["type", "json_schema"] },
    audio: { refused: { voice: heldAudio } },
    tools: { members: ["type", "function"], refused: { model: toolModel } },
    messages: {
      members: ["role", "content", "tool_calls", "tool_call_id"],
      refused: { audio: heldAudio },
      inside: { content: { members: ["type", "text", "file", "image_url", "input_audio"] } },
    },
  },
  refusedAnywhere: ACCOUNT_OBJECTS,
  opaque: ["parameters", "json_schema", "arguments", "metadata"],
})
