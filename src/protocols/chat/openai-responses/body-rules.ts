// Rules for responses bodies: refused members, and members with only one spelling.
import { guardBody, type ObjectRules, type ValueRefusal } from "../../body-rules.ts"
import { ACCOUNT_OBJECTS, accountObject, refusedAtTop, toolModel } from "../../gateway-extension.ts"

/** A string names an existing container; an object requests a new one. */
const heldContainer: ValueRefusal = (value, holder) =>
  typeof value === "string" ? accountObject(value, holder) : undefined

const tool: ObjectRules = {
  members: ["type", "name", "parameters", "container", "tools", "max_num_results"],
  refused: { container: heldContainer, model: toolModel },
}

export const bodyGuard = guardBody({
  members: [
    ...["model", "models", "fallbacks", "provider", "input", "instructions", "tools", "tool_choice", "text"],
    ...["max_output_tokens", "max_tool_calls", "stream", "stream_options", "store", "background", "include"],
    ...["previous_response_id", "conversation", "prompt", "temperature", "top_p", "service_tier", "truncation"],
    ...["user", "safety_identifier", "prompt_cache_key", "metadata", "reasoning", "parallel_tool_calls"],
    ...["context_management"],
  ],
  refused: { ...refusedAtTop(["max_output_tokens"]), conversation: accountObject, prompt: accountObject },
  inside: {
    reasoning: { members: ["effort", "summary", "generate_summary"] },
    text: { members: ["format", "verbosity"] },
    tools: { ...tool, inside: { tools: tool } },
    input: {
      members: ["type", "role", "content", "output", "call_id", "arguments", "encrypted_content"],
      inside: { content: { members: ["type", "text", "image_url", "file_data", "file_url"] } },
    },
  },
  refusedAnywhere: ACCOUNT_OBJECTS,
  opaque: ["parameters", "schema", "arguments", "metadata", "client_metadata", "annotations"],
})
