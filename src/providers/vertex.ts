// Google Vertex AI: Gemini, Anthropic's models and others under one project, with fetched tokens.
import { asciiJson, type JsonEdit } from "../transport/json/json-splice.ts"
import {
  type AccountSettings,
  BOTH_LIMITS,
  type ProtocolDialect,
  type Provider,
  type RequestSigner,
  type SignerContext,
} from "./contract.ts"
import { CredentialRefresher } from "./credentials/credential-refresher.ts"
import { bearerUse, fetchedSigner } from "./credentials/credential-signer.ts"
import { GOOGLE_VARIABLES, googleFileSource, metadataSource } from "./credentials/google-credentials.ts"
import { VariableReader } from "./credentials/variable-reader.ts"

const NO_HEADERS = () => ({})

/** Beta, because clients of Google's other interface use its beta, and `v1` lacks some members. */
const gemini: ProtocolDialect = {
  streamUsage: "sent",
  headers: NO_HEADERS,
  serves: (model) => !model.includes("/") && !isClaude(model) && !isImagen(model),
  path: ({ usualPath }, settings) =>
    `/v1beta1${placeOf(settings)}/publishers/google${usualPath.replace(/^\/v1beta/, "")}`,
}

/** The newer models accept one input per call. */
const ONE = { inputs: 1, textOnly: true }

const embedContent: ProtocolDialect = {
  ...gemini,
  embeds: ONE,
  serves: (model) => model.includes("embedding") && !isPredicted(model),
}

const predict: ProtocolDialect = {
  ...embedContent,
  serves: isPredicted,
  path: ({ usualPath }, settings) => `/v1${placeOf(settings)}/publishers/google${usualPath}`,
}

/** The models from before embedContent. */
function isPredicted(model: string): boolean {
  return /^(text-|textembedding|gemini-embedding-001)/.test(model)
}

/** Called by predict only, at Google's own kind of address. */
const imagen: ProtocolDialect = { ...gemini, serves: isImagen }
const drawn: ProtocolDialect = { ...gemini, serves: (model) => model.startsWith("gemini") && model.includes("image") }

function isImagen(model: string): boolean {
  return model.startsWith("imagen")
}

const VERSION: JsonEdit = { path: ["anthropic_version"], set: '"vertex-2023-10-16"' }

/** The accepted `anthropic-beta` values (November 2026); a request with any other is rejected. */
const BETAS = [
  "compact-2026-01-12",
  "computer-use-2025-01-24",
  "computer-use-2025-11-24",
  "context-1m-2025-08-07",
  "context-management-2025-06-27",
  "interleaved-thinking-2025-05-14",
  "tool-search-tool-2025-10-19",
  "web-search-2025-03-05",
]

const anthropic: ProtocolDialect = {
  streamUsage: "sent",
  headers: NO_HEADERS,
  takesHeaders: { "anthropic-beta": BETAS },
  lacksRemoteServers: true,
  serves: isClaude,
  path({ operation, model, stream }, settings) {
    const models = `/v1${placeOf(settings)}/publishers/anthropic/models`
    if (operation === "count_tokens") return `${models}/count-tokens:rawPredict`
    return `${models}/${pathName(model)}:${stream ? "streamRawPredict" : "rawPredict"}`
  },
  /** The path of token counting does not name a model. */
  edits: ({ operation }) => (operation === "count_tokens" ? [VERSION] : [VERSION, { path: ["model"], remove: true }]),
}

/** Models of other vendors, and Gemini, which has its vendor's name as a prefix there. */
const chat: ProtocolDialect = {
  streamUsage: "ask",
  limitMembers: BOTH_LIMITS,
  headers: NO_HEADERS,
  serves: (model) => !isClaude(model),
  path: ({ usualPath }, settings) => `/v1${placeOf(settings)}/endpoints/openapi${usualPath}`,
  edits: ({ model }) => (model.includes("/") ? [] : [{ path: ["model"], set: asciiJson(`google/${model}`) }]),
}

function isClaude(model: string): boolean {
  return model.startsWith("claude")
}

function placeOf({ project = "", location = "" }: AccountSettings): string {
  return `/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
}

/** A version follows an at sign, which is literal in a path. */
function pathName(model: string): string {
  return encodeURIComponent(model).replaceAll("%40", "@")
}

function addressOf({ baseUrl, location }: AccountSettings): string | undefined {
  if (baseUrl !== undefined || location === undefined) return baseUrl
  if (location === "global") return "https://aiplatform.googleapis.com"
  // Two locations are whole continents.
  if (location === "us" || location === "eu") return `https://aiplatform.${location}.rep.googleapis.com`
  return `https://${location}-aiplatform.googleapis.com`
}

function signer(
  { credentialsFile, ambient }: AccountSettings,
  { onFailure }: SignerContext,
): RequestSigner | undefined {
  const source = credentialsFile
    ? googleFileSource(credentialsFile)
    : ambient && metadataSource(new VariableReader(ambient))
  if (!source) return undefined
  const obtained = () => Promise.resolve({ verdict: "accepted: a token was obtained", sound: true })
  return fetchedSigner(new CredentialRefresher(source, { onFailure }), bearerUse(obtained))
}

export const vertex: Provider = {
  id: "vertex",
  name: "Google Vertex AI",
  needsCredential: true,
  reportsModel: true,
  form: {
    members: {
      project: { variables: ["GOOGLE_CLOUD_PROJECT"], needed: "always" },
      location: { variables: ["GOOGLE_CLOUD_LOCATION"], needed: "always" },
      credentials_file: { variables: ["GOOGLE_APPLICATION_CREDENTIALS"] },
    },
    proofs: [{ needs: ["credentials_file"] }],
    ambient: { variables: GOOGLE_VARIABLES, hosts: [".googleapis.com"] },
  },
  addressOf,
  dialects: {
    "gemini-generate": gemini,
    "anthropic-messages": anthropic,
    "openai-chat": chat,
    "gemini-embed-one": embedContent,
    "vertex-predict": predict,
    "gemini-images": drawn,
    "imagen-predict": imagen,
  },
  signer,
}
