// The list of protocols and their codecs, for the two composition roots: the gateway's and its worker thread's.
import { anthropicMessages } from "./protocols/anthropic-messages/anthropic-messages.ts"
import { anthropicMessagesCodec } from "./protocols/anthropic-messages/codec.ts"
import { bedrockConverseCodec } from "./protocols/bedrock-converse/codec.ts"
import { completionImages, geminiImages } from "./protocols/chat-images/codec.ts"
import type { Codec, Codecs } from "./protocols/codec.ts"
import { upstream as cohereEmbed } from "./protocols/cohere-embed/codec.ts"
import type { Protocol } from "./protocols/contract.ts"
import type { EmbeddingCodecs } from "./protocols/embedding-codec.ts"
import { upstream as fireworksImages } from "./protocols/fireworks-images/codec.ts"
import { geminiGenerateCodec } from "./protocols/gemini-generate/codec.ts"
import { geminiEmbed } from "./protocols/gemini-generate/embed.ts"
import * as geminiEmbedCodec from "./protocols/gemini-generate/embed-codec.ts"
import { geminiGenerate } from "./protocols/gemini-generate/gemini-generate.ts"
import type { ImageCodecs } from "./protocols/image-codec.ts"
import { upstream as imagenPredict } from "./protocols/imagen-predict/codec.ts"
import { upstream as jinaEmbeddings } from "./protocols/jina-embeddings/codec.ts"
import { upstream as mistralEmbeddings } from "./protocols/mistral-embeddings/codec.ts"
import { upstream as novaEmbed } from "./protocols/nova-embed/codec.ts"
import { openaiChatCodec } from "./protocols/openai-chat/codec.ts"
import { openaiChat } from "./protocols/openai-chat/openai-chat.ts"
import { openaiCompletions } from "./protocols/openai-completions/openai-completions.ts"
import * as openaiEmbeddingsCodec from "./protocols/openai-embeddings/codec.ts"
import { openaiEmbeddings } from "./protocols/openai-embeddings/openai-embeddings.ts"
import * as openaiImagesCodec from "./protocols/openai-images/codec.ts"
import { openaiImages } from "./protocols/openai-images/openai-images.ts"
import { openaiModerations } from "./protocols/openai-moderations/openai-moderations.ts"
import { openaiResponsesCodec } from "./protocols/openai-responses/codec.ts"
import { openaiResponses } from "./protocols/openai-responses/openai-responses.ts"
import { upstream as titanEmbed } from "./protocols/titan-embed/codec.ts"
import { upstream as togetherImages } from "./protocols/together-images/codec.ts"
import { upstream as vertexPredict } from "./protocols/vertex-predict/codec.ts"
import { upstream as voyageEmbeddings } from "./protocols/voyage-embeddings/codec.ts"
import { upstream as xaiImages } from "./protocols/xai-images/codec.ts"

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

const both: readonly (readonly [string, Codec])[] = [
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
    // Nobody speaks these to us.
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
    // Nobody speaks these to us.
    ["xai-images", xaiImages],
    ["together-images", togetherImages],
    ["fireworks-images", fireworksImages],
    ["imagen-predict", imagenPredict],
    ["gemini-images", geminiImages(geminiGenerateCodec.upstream)],
    ["chat-images", completionImages(openaiChatCodec.upstream)],
  ]),
}

/** What can be said again in another protocol. */
export const codecs: Codecs = {
  embedding,
  image,
  ingress: new Map(both.map(([id, { ingress }]) => [id, ingress])),
  upstream: new Map([
    ...both.map(([id, { upstream }]) => [id, upstream] as const),
    // Nobody speaks it to us.
    ["bedrock-converse", bedrockConverseCodec],
  ]),
}
