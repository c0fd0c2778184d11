// The five upstream protocols.
import type { UpstreamProtocol } from "../axes.ts"
import { anthropicMessagesVoice } from "./anthropic-messages.ts"
import { bedrockConverseVoice } from "./bedrock-converse.ts"
import { geminiGenerateVoice } from "./gemini-generate.ts"
import { openaiChatVoice } from "./openai-chat.ts"
import { openaiResponsesVoice } from "./openai-responses.ts"
import type { UpstreamFormat } from "./upstream-format.ts"

export const voices: Readonly<Record<UpstreamProtocol, UpstreamFormat>> = {
  "openai-chat": openaiChatVoice,
  "openai-responses": openaiResponsesVoice,
  "anthropic-messages": anthropicMessagesVoice,
  "gemini-generate": geminiGenerateVoice,
  "bedrock-converse": bedrockConverseVoice,
}
