// The provider table: one row each with address, credential and protocols. Providers that need more than a key have
// their own file.
import type { Secret } from "../config/secret.ts"
import { azure } from "./azure.ts"
import { bedrock } from "./bedrock.ts"
import {
  BOTH_LIMITS,
  type EmbeddingLimits,
  type ListHostModels,
  OPENAI_CHAT_MEMBERS,
  type ProtocolDialect,
  type Provider,
} from "./contract.ts"
import { listLmstudio, listOllama, listOpenai } from "./model-listing.ts"
import { vertex } from "./vertex.ts"

interface ProviderRow {
  readonly id: string
  readonly name: string
  readonly env?: string
  /** The base address that the vendor's own client library takes; absent if each installation has its own. */
  readonly baseUrl?: string
  readonly addressOf?: Provider["addressOf"]
  readonly dialects: Readonly<Record<string, ProtocolDialect>>
  readonly defaultProtocols?: readonly string[]
  readonly local?: boolean
  readonly hostEnv?: string
  /** Lists its models, for discovery. */
  readonly list?: ListHostModels
}

const bearer = (credential: Secret | undefined): Record<string, string> =>
  credential ? { authorization: `Bearer ${credential.reveal()}` } : {}
const anthropicKey = (credential: Secret | undefined): Record<string, string> =>
  credential ? { "x-api-key": credential.reveal() } : {}
const googleKey = (credential: Secret | undefined): Record<string, string> =>
  credential ? { "x-goog-api-key": credential.reveal() } : {}

const openai: ProtocolDialect = { streamUsage: "ask", headers: bearer }
/** Usage always comes with the last event, and requests for it are rejected. */
const openaiWithUsage: ProtocolDialect = { streamUsage: "sent", headers: bearer }
/** Mistral rejects tool call ids that do not match its own format. */
const mistral: ProtocolDialect = { ...openaiWithUsage, callId: /^[a-zA-Z0-9]{9}$/ }
const anthropic: ProtocolDialect = { streamUsage: "sent", headers: anthropicKey }
const gemini: ProtocolDialect = { streamUsage: "sent", headers: googleKey }

const chat = { "openai-chat": openai }
const newerChat = { "openai-chat": { ...openai, limitMembers: BOTH_LIMITS } }
const responses = { "openai-responses": openai }
const images = { "openai-images": openai }
/** Images within chat completions, as OpenRouter offers them. */
const chatImages = { "chat-images": openai }
/** Imagen is called by predict only, all other image models by generateContent. */
const googleImages = {
  "gemini-images": { ...gemini, serves: (model: string) => !isImagen(model) },
  "imagen-predict": { ...gemini, serves: isImagen },
}
/** Models that must be polled for their image are not served. */
const fireworksImages: ProtocolDialect = {
  ...openai,
  headers: (credential) => ({ ...bearer(credential), accept: "application/json" }),
  serves: (model) => !model.includes("kontext"),
}
/** Completions of plain text: hosts of open weights offer them for every model. */
const completions = { "openai-completions": openai }
/** OpenAI offers completions only for a few older models. */
const lastCompletions = {
  "openai-completions": {
    ...openai,
    serves: (model: string) => /^(gpt-3\.5-turbo-instruct|(davinci|babbage)-002)/.test(model),
  },
}

/** Moderations, at hosts that have their own models for them. */
const moderations = { "openai-moderations": { ...openai, serves: (model: string) => model.includes("moderation") } }

/**
 * Limits of one embedding call, by documentation or observed rejections (November 2026); of several figures the lowest.
 * Providers that are not listed get OpenAI's limits, except for the tokens.
 */
const EMBEDS = {
  openai: { inputs: 2048, tokens: 300_000 },
  google: { inputs: 100, textOnly: true },
  mistral: { inputs: 512, tokens: 16_384, textOnly: true },
  cohere: { inputs: 96, textOnly: true },
  voyage: { inputs: 1000, tokens: 120_000, textOnly: true },
  jina: { inputs: 2048, textOnly: true },
  alibaba: { inputs: 10, textOnly: true },
  siliconflow: { inputs: 32, textOnly: true },
  nvidia: { inputs: 50, textOnly: true },
  cloudflare: { inputs: 100, textOnly: true },
  others: { inputs: 2048, textOnly: true },
} as const satisfies Record<string, EmbeddingLimits>

const embeddings = { "openai-embeddings": openai }
/** Embeddings of models whose tokens are not OpenAI's. */
const texts = embeddingsOf(EMBEDS.others)

function embeddingsOf(embeds: EmbeddingLimits): Record<string, ProtocolDialect> {
  return { "openai-embeddings": { ...openai, embeds } }
}

/** It rejects requests for base64. */
const alibabaEmbeddings: ProtocolDialect = {
  ...openai,
  embeds: EMBEDS.alibaba,
  edits: () => [{ path: ["encoding_format"], remove: true }],
}

/** Contextualised chunks and images have interfaces of their own. */
const voyage = {
  "voyage-embeddings": {
    ...openai,
    embeds: EMBEDS.voyage,
    serves: (model: string) => !/^voyage-(context|multimodal)/.test(model),
  },
}
const jina = { "jina-embeddings": { ...openai, embeds: EMBEDS.jina } }

function isImagen(model: string): boolean {
  return model.startsWith("imagen")
}

/** Anthropic's protocol at another address, with the key in either header. */
function messagesAt(baseUrl: string): Record<string, ProtocolDialect> {
  const headers = (credential: Secret | undefined) => ({ ...bearer(credential), ...anthropicKey(credential) })
  return { "anthropic-messages": { streamUsage: "sent", headers, baseUrl } }
}

const ROWS: readonly ProviderRow[] = [
  {
    id: "openai",
    name: "OpenAI",
    env: "OPENAI_API_KEY",
    baseUrl: "https://api.openai.com/v1",
    dialects: {
      ...responses,
      "openai-chat": { ...openai, limitMembers: BOTH_LIMITS, takesMembers: OPENAI_CHAT_MEMBERS },
      ...embeddingsOf(EMBEDS.openai),
      ...images,
      ...lastCompletions,
      ...moderations,
    },
  },
  {
    id: "anthropic",
    name: "Anthropic",
    env: "ANTHROPIC_API_KEY",
    baseUrl: "https://api.anthropic.com",
    dialects: { "anthropic-messages": anthropic },
  },
  {
    id: "google",
    name: "Google AI Studio",
    env: "GEMINI_API_KEY",
    baseUrl: "https://generativelanguage.googleapis.com",
    dialects: {
      "gemini-generate": { ...gemini, serves: (model) => !isImagen(model) },
      // Not OpenAI's embeddings, which it supports too: its own have a task type, and report usage.
      "gemini-embed": { ...gemini, embeds: EMBEDS.google },
      ...googleImages,
      "openai-chat": {
        ...openai,
        limitMembers: BOTH_LIMITS,
        baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
      },
    },
  },
  {
    id: "openrouter",
    name: "OpenRouter",
    env: "OPENROUTER_API_KEY",
    baseUrl: "https://openrouter.ai/api/v1",
    dialects: {
      ...newerChat,
      ...responses,
      ...embeddings,
      ...completions,
      ...chatImages,
      ...messagesAt("https://openrouter.ai/api"),
    },
  },
  { id: "groq", name: "Groq", env: "GROQ_API_KEY", baseUrl: "https://api.groq.com/openai/v1", dialects: newerChat },
  {
    id: "mistral",
    name: "Mistral AI",
    env: "MISTRAL_API_KEY",
    baseUrl: "https://api.mistral.ai/v1",
    dialects: { "openai-chat": mistral, "mistral-embeddings": { ...openai, embeds: EMBEDS.mistral }, ...moderations },
  },
  {
    id: "deepseek",
    name: "DeepSeek",
    env: "DEEPSEEK_API_KEY",
    baseUrl: "https://api.deepseek.com/v1",
    dialects: { ...chat, ...messagesAt("https://api.deepseek.com/anthropic") },
  },
  {
    id: "xai",
    name: "xAI",
    env: "XAI_API_KEY",
    baseUrl: "https://api.x.ai/v1",
    dialects: { ...newerChat, ...responses, "xai-images": openai, ...messagesAt("https://api.x.ai") },
  },
  {
    id: "together",
    name: "Together AI",
    env: "TOGETHER_API_KEY",
    baseUrl: "https://api.together.xyz/v1",
    dialects: { ...chat, ...texts, "together-images": openai, ...completions },
  },
  {
    id: "fireworks",
    name: "Fireworks AI",
    env: "FIREWORKS_API_KEY",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    dialects: { ...newerChat, ...texts, "fireworks-images": fireworksImages, ...completions },
  },
  {
    id: "cerebras",
    name: "Cerebras",
    env: "CEREBRAS_API_KEY",
    baseUrl: "https://api.cerebras.ai/v1",
    dialects: newerChat,
  },
  {
    id: "perplexity",
    name: "Perplexity",
    env: "PERPLEXITY_API_KEY",
    baseUrl: "https://api.perplexity.ai",
    dialects: chat,
  },
  {
    id: "moonshot",
    name: "Moonshot AI",
    env: "MOONSHOT_API_KEY",
    baseUrl: "https://api.moonshot.ai/v1",
    dialects: { ...chat, ...messagesAt("https://api.moonshot.ai/anthropic") },
  },
  {
    id: "zai",
    name: "Z.ai",
    env: "ZAI_API_KEY",
    baseUrl: "https://api.z.ai/api/paas/v4",
    dialects: { ...chat, ...messagesAt("https://api.z.ai/api/anthropic") },
  },
  {
    id: "alibaba",
    name: "Alibaba Cloud (Qwen)",
    env: "DASHSCOPE_API_KEY",
    baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    dialects: { ...chat, "openai-embeddings": alibabaEmbeddings },
  },
  {
    id: "minimax",
    name: "MiniMax",
    env: "MINIMAX_API_KEY",
    baseUrl: "https://api.minimax.io/v1",
    dialects: { ...chat, ...messagesAt("https://api.minimax.io/anthropic") },
  },
  {
    id: "nvidia",
    name: "NVIDIA",
    env: "NVIDIA_API_KEY",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    dialects: { ...chat, ...embeddingsOf(EMBEDS.nvidia) },
  },
  {
    id: "sambanova",
    name: "SambaNova",
    env: "SAMBANOVA_API_KEY",
    baseUrl: "https://api.sambanova.ai/v1",
    dialects: chat,
  },
  {
    id: "hyperbolic",
    name: "Hyperbolic",
    env: "HYPERBOLIC_API_KEY",
    baseUrl: "https://api.hyperbolic.xyz/v1",
    dialects: chat,
  },
  {
    id: "nebius",
    name: "Nebius",
    env: "NEBIUS_API_KEY",
    baseUrl: "https://api.tokenfactory.nebius.com/v1",
    dialects: { ...chat, ...texts, ...images, ...completions },
  },
  {
    id: "novita",
    name: "Novita AI",
    env: "NOVITA_API_KEY",
    baseUrl: "https://api.novita.ai/openai/v1",
    dialects: { ...chat, ...texts, ...completions },
  },
  {
    id: "deepinfra",
    name: "DeepInfra",
    env: "DEEPINFRA_API_KEY",
    baseUrl: "https://api.deepinfra.com/v1/openai",
    dialects: { ...chat, ...texts, ...images, ...completions },
  },
  {
    id: "siliconflow",
    name: "SiliconFlow",
    env: "SILICONFLOW_API_KEY",
    baseUrl: "https://api.siliconflow.com/v1",
    dialects: { ...chat, ...embeddingsOf(EMBEDS.siliconflow), ...images },
  },
  {
    id: "cohere",
    name: "Cohere",
    env: "COHERE_API_KEY",
    baseUrl: "https://api.cohere.ai",
    /** A base address that already includes the OpenAI-compatible path is accepted too. */
    addressOf: ({ baseUrl = "https://api.cohere.ai" }) => baseUrl.replace(/\/compatibility\/v1$/, ""),
    dialects: {
      "openai-chat": { ...openai, path: ({ usualPath }) => `/compatibility/v1${usualPath}` },
      "cohere-embed": { ...openai, embeds: EMBEDS.cohere },
    },
  },
  {
    id: "huggingface",
    name: "Hugging Face",
    env: "HF_TOKEN",
    baseUrl: "https://router.huggingface.co/v1",
    dialects: chat,
  },
  {
    id: "github",
    name: "GitHub Models",
    // Not GITHUB_TOKEN: that is set on many machines, and for other purposes.
    env: "GITHUB_MODELS_TOKEN",
    baseUrl: "https://models.github.ai/inference",
    dialects: { ...newerChat, ...embeddingsOf(EMBEDS.openai) },
  },
  // Its address includes the account: https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1
  {
    id: "cloudflare",
    name: "Cloudflare",
    env: "CLOUDFLARE_API_TOKEN",
    dialects: { ...chat, ...embeddingsOf(EMBEDS.cloudflare) },
  },
  { id: "ai21", name: "AI21 Labs", env: "AI21_API_KEY", baseUrl: "https://api.ai21.com/studio/v1", dialects: chat },
  { id: "voyage", name: "Voyage AI", env: "VOYAGE_API_KEY", baseUrl: "https://api.voyageai.com/v1", dialects: voyage },
  { id: "jina", name: "Jina AI", env: "JINA_API_KEY", baseUrl: "https://api.jina.ai/v1", dialects: jina },
  {
    id: "ollama",
    name: "Ollama",
    baseUrl: "http://127.0.0.1:11434/v1",
    dialects: { ...chat, ...texts, ...completions, ...messagesAt("http://127.0.0.1:11434") },
    local: true,
    hostEnv: "OLLAMA_HOST",
    list: listOllama,
  },
  {
    id: "lmstudio",
    name: "LM Studio",
    baseUrl: "http://127.0.0.1:1234/v1",
    dialects: { ...chat, ...texts, ...completions },
    local: true,
    list: listLmstudio,
  },
  {
    id: "vllm",
    name: "vLLM",
    baseUrl: "http://127.0.0.1:8000/v1",
    dialects: { ...newerChat, ...responses, ...embeddings, ...completions },
    local: true,
    list: listOpenai,
  },
  {
    id: "llamacpp",
    name: "llama.cpp",
    baseUrl: "http://127.0.0.1:8080/v1",
    dialects: { ...chat, ...texts, ...completions },
    local: true,
    list: listOpenai,
  },
]

/** Kinds of host whose address the operator configures. */
const COMPATIBLE: readonly ProviderRow[] = [
  {
    id: "openai-compatible",
    name: "OpenAI-compatible",
    dialects: { ...chat, ...responses, ...embeddings, ...images, ...completions, "openai-moderations": openai },
    // Few such hosts support more; Responses requests are translated to chat for them.
    defaultProtocols: ["openai-chat", "openai-embeddings", "openai-images", "openai-completions", "openai-moderations"],
    local: true,
    list: listOpenai,
  },
  {
    id: "anthropic-compatible",
    name: "Anthropic-compatible",
    dialects: { "anthropic-messages": anthropic },
    local: true,
  },
  {
    id: "gemini-compatible",
    name: "Gemini-compatible",
    dialects: { "gemini-generate": gemini, "gemini-embed": { ...gemini, embeds: EMBEDS.google }, ...googleImages },
    local: true,
  },
]

export const knownProviders: readonly Provider[] = [...ROWS.map(providerOf), azure, bedrock, vertex]
export const compatibleProviders: readonly Provider[] = COMPATIBLE.map(providerOf)

function providerOf(row: ProviderRow): Provider {
  const { id, name, env, baseUrl, addressOf, dialects, defaultProtocols, local = false, hostEnv, list } = row
  return {
    id,
    name,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(addressOf && { addressOf }),
    ...(env !== undefined && { environmentVariable: env }),
    needsCredential: !local,
    // At a self-hosted server, its operator chooses the names.
    ...(!local && { reportsModel: true }),
    // A model on this machine is free; a custom address may bill.
    ...(local && baseUrl !== undefined && { isFree: true }),
    dialects,
    ...(defaultProtocols && { defaultProtocols }),
    ...(hostEnv !== undefined && { hostVariable: hostEnv }),
    // A custom address may list models that cost money.
    ...(list && { discovery: { list, byDefault: baseUrl !== undefined } }),
  }
}
