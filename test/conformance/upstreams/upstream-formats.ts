// The five upstream protocols.
import type { UpstreamProtocol } from "../axes.ts"
import { anthropicMessagesFormat } from "./anthropic-messages.ts"
import { bedrockConverseFormat } from "./bedrock-converse.ts"
import { geminiGenerateFormat } from "./gemini-generate.ts"
import { openaiChatFormat } from "./openai-chat.ts"
import { openaiResponsesFormat } from "./openai-responses.ts"
import type { UpstreamFormat } from "./upstream-format.ts"

export const upstreamFormats: Readonly<Record<UpstreamProtocol, UpstreamFormat>> = {
  "openai-chat": openaiChatFormat,
  "openai-responses": openaiResponsesFormat,
  "anthropic-messages": anthropicMessagesFormat,
  "gemini-generate": geminiGenerateFormat,
  "bedrock-converse": bedrockConverseFormat,
}
