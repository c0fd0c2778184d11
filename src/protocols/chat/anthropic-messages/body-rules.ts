// Rules for messages bodies: refused members, and members with only one spelling.
import { guardBody } from "../../body-rules.ts"
import { ACCOUNT_OBJECTS, accountObject, refusedAtTop, toolModel } from "../../gateway-extension.ts"

export const bodyGuard = guardBody({
  members: [
    ...["model", "models", "fallbacks", "provider", "messages", "system", "tools", "tool_choice", "max_tokens"],
    ...["temperature", "top_p", "top_k", "stop_sequences", "stream", "service_tier", "speed", "inference_geo"],
    ...["container", "thinking", "metadata", "mcp_servers", "output_config", "output_format", "context_management"],
  ],
  refused: { ...refusedAtTop(["max_tokens"]), container: accountObject },
  inside: {
    thinking: { members: ["type", "budget_tokens", "display"] },
    output_config: { members: ["effort", "format", "task_budget"] },
    tools: {
      members: ["type", "name", "input_schema", "max_uses", "max_content_tokens"],
      refused: { model: toolModel },
    },
    messages: {
      members: ["role", "content"],
      inside: {
        content: {
          members: ["type", "text", "source", "content", "input", "tool_use_id"],
          // Output of code that the provider ran, sent back unchanged.
          opaqueTypes: /code_execution_(tool_result|output|result)$/,
        },
      },
    },
  },
  refusedAnywhere: ACCOUNT_OBJECTS,
  opaque: ["input_schema", "input_examples", "schema", "input", "metadata", "citations"],
})
