// The list of protocols and their codecs, for the two composition roots: the gateway's and its worker thread's.
import { anthropicMessages } from "./protocols/chat/anthropic-messages/anthropic-messages.ts"
import { anthropicMessagesCodec } from "./protocols/chat/anthropic-messages/codec.ts"
import { bedrockConverseCodec } from "./protocols/chat/bedrock-converse/codec.ts"
import { geminiGenerateCodec } from "./protocols/chat/gemini-generate/codec.ts"
import * as geminiEmbedCodec from "./protocols/chat/gemini-generate/embeddings/codec.ts"
import { geminiEmbed } from "./protocols/chat/gemini-generate/embeddings/gemini-embed.ts"
import { geminiGenerate } from "./protocols/chat/gemini-generate/gemini-generate.ts"
import { openaiChatCodec } from "./protocols/chat/openai-chat/codec.ts"
import { openaiChat } from "./protocols/chat/openai-chat/openai-chat.ts"
import { openaiResponsesCodec } from "./protocols/chat/openai-responses/codec.ts"
import { openaiResponses } from "./protocols/chat/openai-responses/openai-responses.ts"
import type { ChatCodec, CodecRegistry } from "./protocols/chat-codec.ts"
import type { Protocol } from "./protocols/contract.ts"
import type { EmbeddingCodecs } from "./protocols/embedding-codec.ts"
import { cohereEmbedUpstream as cohereEmbed } from "./protocols/embeddings/cohere-embed/codec.ts"
import { jinaEmbeddingsUpstream as jinaEmbeddings } from "./protocols/embeddings/jina-embeddings/codec.ts"
import { mistralEmbeddingsUpstream as mistralEmbeddings } from "./protocols/embeddings/mistral-embeddings/codec.ts"
import { novaEmbedUpstream as novaEmbed } from "./protocols/embeddings/nova-embed/codec.ts"
import * as openaiEmbeddingsCodec from "./protocols/embeddings/openai-embeddings/codec.ts"
import { openaiEmbeddings } from "./protocols/embeddings/openai-embeddings/openai-embeddings.ts"
import { titanEmbedUpstream as titanEmbed } from "./protocols/embeddings/titan-embed/codec.ts"
import { vertexPredictUpstream as vertexPredict } from "./protocols/embeddings/vertex-predict/codec.ts"
import { voyageEmbeddingsUpstream as voyageEmbeddings } from "./protocols/embeddings/voyage-embeddings/codec.ts"
import type { ImageCodecs } from "./protocols/image-codec.ts"
import { completionImages, geminiImages } from "./protocols/images/chat-images/codec.ts"
import { fireworksImagesUpstream as fireworksImages } from "./protocols/images/fireworks-images/codec.ts"
import { imagenPredictUpstream as imagenPredict } from "./protocols/images/imagen-predict/codec.ts"
import * as openaiImagesCodec from "./protocols/images/openai-images/codec.ts"
import { openaiImages } from "./protocols/images/openai-images/openai-images.ts"
import { togetherImagesUpstream as togetherImages } from "./protocols/images/together-images/codec.ts"
import { xaiImagesUpstream as xaiImages } from "./protocols/images/xai-images/codec.ts"
import { openaiCompletions } from "./protocols/passthrough/openai-completions/openai-completions.ts"
import { openaiModerations } from "./protocols/passthrough/openai-moderations/openai-moderations.ts"

export const protocols: readonly Protocol[] = [
  openaiChat,
  openaiResponses,
  openaiCompletions,
  openaiEmbeddings,
  openaiImages,
  openaiModerations,
  anthropicMessages,
  geminiGenerate,
  geminiEmbed,
]

const both: readonly (readonly [string, ChatCodec])[] = [
  [openaiChat.id, openaiChatCodec],
  [openaiResponses.id, openaiResponsesCodec],
  [anthropicMessages.id, anthropicMessagesCodec],
  [geminiGenerate.id, geminiGenerateCodec],
]

const embedding: EmbeddingCodecs = {
  ingress: new Map([
    [openaiEmbeddings.id, openaiEmbeddingsCodec.ingress],
    [geminiEmbed.id, geminiEmbedCodec.ingress],
  ]),
  upstream: new Map([
    [openaiEmbeddings.id as string, openaiEmbeddingsCodec.upstream],
    [geminiEmbed.id, geminiEmbedCodec.batchUpstream],
    // No client uses these.
    ["gemini-embed-one", geminiEmbedCodec.singleUpstream],
    ["vertex-predict", vertexPredict],
    ["mistral-embeddings", mistralEmbeddings],
    ["voyage-embeddings", voyageEmbeddings],
    ["jina-embeddings", jinaEmbeddings],
    ["cohere-embed", cohereEmbed],
    ["titan-embed", titanEmbed],
    ["nova-embed", novaEmbed],
  ]),
}

const image: ImageCodecs = {
  ingress: new Map([[openaiImages.id, openaiImagesCodec.ingress]]),
  upstream: new Map([
    [openaiImages.id as string, openaiImagesCodec.upstream],
    // No client uses these.
    ["xai-images", xaiImages],
    ["together-images", togetherImages],
    ["fireworks-images", fireworksImages],
    ["imagen-predict", imagenPredict],
    ["gemini-images", geminiImages(geminiGenerateCodec.upstream)],
    ["chat-images", completionImages(openaiChatCodec.upstream)],
  ]),
}

/** The codecs for translation between protocols. */
export const codecs: CodecRegistry = {
  embedding,
  image,
  ingress: new Map(both.map(([id, { ingress }]) => [id, ingress])),
  upstream: new Map([
    ...both.map(([id, { upstream }]) => [id, upstream] as const),
    // No client uses it.
    ["bedrock-converse", bedrockConverseCodec],
  ]),
}
