// Names of request members that the gateway looks for in every protocol without parsing the body.

/** Members that hold the conversation. */
export const CONVERSATION_MEMBERS: readonly string[] = ["messages", "contents", "input"]

/** Members that hold the conversation's instructions. */
export const INSTRUCTION_MEMBERS: readonly string[] = [
  "system",
  "instructions",
  "systemInstruction",
  "system_instruction",
]

/** Members that may request JSON output. */
export const FORMAT_MEMBERS: ReadonlySet<string> = new Set([
  ...["response_format", "text", "output_config", "output_format"],
  ...["generationConfig", "generation_config"],
])

/** A value of these members that requests JSON output. */
export const JSON_FORMAT = /"type"\s*:\s*"json|"application\/json"/

/** A message that holds instructions, which many conversations share. */
export const INSTRUCTION_MESSAGE = /"role"\s*:\s*"(?:system|developer)"/

/** The member by which a caller names its conversation. */
export const SESSION_MEMBER = "prompt_cache_key"

/** The member that may hold a user's id instead, and that id. */
export const METADATA_MEMBER = "metadata"
export const METADATA_USER_ID = /"user_id"\s*:\s*"([^"]+)/

/** Members that hold the text of requests without a conversation: embeddings and images. */
export const INPUT_MEMBERS: readonly string[] = ["input", "prompt", "content", "requests"]
export const NESTED_INPUT_MEMBERS: readonly string[] = ["content", "parts", "title", "text"]

/** Members that set a reasoning effort in other words than the host's. */
export const EFFORT_MEMBERS: readonly string[] = ["reasoning", "thinking", "extra_body"]
