// The four drivers.
import type { ClientProtocol } from "../axes.ts"
import { anthropicMessagesClient } from "./anthropic-messages.ts"
import type { MatrixClient, MatrixConnection } from "./client.ts"
import { geminiGenerateClient } from "./gemini-generate.ts"
import { openaiChatClient } from "./openai-chat.ts"
import { openaiResponsesClient } from "./openai-responses.ts"

export const clients: Readonly<Record<ClientProtocol, (connection: MatrixConnection) => MatrixClient>> = {
  "openai-chat": openaiChatClient,
  "openai-responses": openaiResponsesClient,
  "anthropic-messages": anthropicMessagesClient,
  "gemini-generate": geminiGenerateClient,
}
