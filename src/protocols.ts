// The list of protocols, for the two composition roots: the gateway's and its worker thread's.
import { anthropicMessages } from "./protocols/anthropic-messages/anthropic-messages.ts"
import type { Protocol } from "./protocols/contract.ts"
import { geminiGenerate } from "./protocols/gemini-generate/gemini-generate.ts"
import { openaiChat } from "./protocols/openai-chat/openai-chat.ts"
import { openaiEmbeddings } from "./protocols/openai-embeddings/openai-embeddings.ts"
import { openaiImages } from "./protocols/openai-images/openai-images.ts"
import { openaiResponses } from "./protocols/openai-responses/openai-responses.ts"

export const protocols: readonly Protocol[] = [
  openaiChat,
  openaiResponses,
  openaiEmbeddings,
  openaiImages,
  anthropicMessages,
  geminiGenerate,
]
