// The list of protocols and their codecs, for the two composition roots: the gateway's and its worker thread's.
import { anthropicMessages } from "./protocols/anthropic-messages/anthropic-messages.ts"
import { anthropicMessagesCodec } from "./protocols/anthropic-messages/codec.ts"
import { bedrockConverseCodec } from "./protocols/bedrock-converse/codec.ts"
import type { Codec, Codecs } from "./protocols/codec.ts"
import type { Protocol } from "./protocols/contract.ts"
import { geminiGenerateCodec } from "./protocols/gemini-generate/codec.ts"
import { geminiGenerate } from "./protocols/gemini-generate/gemini-generate.ts"
import { openaiChatCodec } from "./protocols/openai-chat/codec.ts"
import { openaiChat } from "./protocols/openai-chat/openai-chat.ts"
import { openaiEmbeddings } from "./protocols/openai-embeddings/openai-embeddings.ts"
import { openaiImages } from "./protocols/openai-images/openai-images.ts"
import { openaiResponsesCodec } from "./protocols/openai-responses/codec.ts"
import { openaiResponses } from "./protocols/openai-responses/openai-responses.ts"

export const protocols: readonly Protocol[] = [
  openaiChat,
  openaiResponses,
  openaiEmbeddings,
  openaiImages,
  anthropicMessages,
  geminiGenerate,
]

const both: readonly (readonly [string, Codec])[] = [
  [openaiChat.id, openaiChatCodec],
  [openaiResponses.id, openaiResponsesCodec],
  [anthropicMessages.id, anthropicMessagesCodec],
  [geminiGenerate.id, geminiGenerateCodec],
]

/** What can be said again in another protocol. */
export const codecs: Codecs = {
  ingress: new Map(both.map(([id, { ingress }]) => [id, ingress])),
  upstream: new Map([
    ...both.map(([id, { upstream }]) => [id, upstream] as const),
    // Nobody speaks it to us.
    ["bedrock-converse", bedrockConverseCodec],
  ]),
}
