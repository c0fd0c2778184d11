// Google Vertex AI: Gemini, Anthropic's models and others under one project, with tokens of a service account.
import { Abort } from "../transport/abort.ts"
import { failure, type Send } from "../transport/http-client.ts"
import { asciiJson, type Edit } from "../transport/json-splice.ts"
import { TransportError } from "../transport/transport-error.ts"
import {
  type AccountSettings,
  BOTH_LIMITS,
  type Dialect,
  type Provider,
  type Signer,
  type Verdict,
} from "./contract.ts"
import { GoogleTokens, TokenRefusedError } from "./google-token.ts"

const NO_HEADERS = () => ({})

/** Beta, because clients of Google's other interface speak its beta, and its members are not all known to `v1`. */
const gemini: Dialect = {
  streamUsage: "sent",
  headers: NO_HEADERS,
  serves: (model) => !model.includes("/") && !isClaude(model) && !isImagen(model),
  path: ({ usualPath }, settings) =>
    `/v1beta1${placeOf(settings)}/publishers/google${usualPath.replace(/^\/v1beta/, "")}`,
}

/** The newer models take no more in a call, whatever the older ones did. */
const ONE = { inputs: 1, textAlone: true }

const embedContent: Dialect = {
  ...gemini,
  embeds: ONE,
  serves: (model) => model.includes("embedding") && !isPredicted(model),
}

const predict: Dialect = {
  ...embedContent,
  serves: isPredicted,
  path: ({ usualPath }, settings) => `/v1${placeOf(settings)}/publishers/google${usualPath}`,
}

/** The models from before embedContent was there. */
function isPredicted(model: string): boolean {
  return /^(text-|textembedding|gemini-embedding-001)/.test(model)
}

/** Called by predict alone, at an address as all of Google's own have it. */
const imagen: Dialect = { ...gemini, serves: isImagen }
const drawn: Dialect = { ...gemini, serves: (model) => model.startsWith("gemini") && model.includes("image") }

function isImagen(model: string): boolean {
  return model.startsWith("imagen")
}

const VERSION: Edit = { path: ["anthropic_version"], set: '"vertex-2023-10-16"' }

/** It refuses a whole request for one it does not know (as of November 2026). */
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

const anthropic: Dialect = {
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
  /** Where tokens are counted the path names no model. */
  edits: ({ operation }) => (operation === "count_tokens" ? [VERSION] : [VERSION, { path: ["model"], remove: true }]),
}

/** The models of other makers, and Gemini, which is called by its maker's name there. */
const chat: Dialect = {
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

/** A version follows an at sign, which means itself in a path. */
function pathName(model: string): string {
  return encodeURIComponent(model).replaceAll("%40", "@")
}

function addressOf({ baseUrl, location }: AccountSettings): string | undefined {
  if (baseUrl !== undefined || location === undefined) return baseUrl
  if (location === "global") return "https://aiplatform.googleapis.com"
  // Two places are whole continents.
  if (location === "us" || location === "eu") return `https://aiplatform.${location}.rep.googleapis.com`
  return `https://${location}-aiplatform.googleapis.com`
}

function signer({ credentialsFile }: AccountSettings): Signer | undefined {
  if (!credentialsFile) return undefined
  const tokens = new GoogleTokens(credentialsFile)
  return {
    sign: (send) => withToken(send, tokens),
    minted: () => (tokens.current ? [tokens.current] : []),
    check: () => checkToken(tokens),
  }
}

function withToken(send: Send, tokens: GoogleTokens): Send {
  return async (outgoing) => {
    const token = await untilAborted(tokens.token(), outgoing.abort).catch(refusalOf)
    if (token instanceof Response) return token
    const headers = new Headers(outgoing.headers)
    headers.set("authorization", `Bearer ${token.reveal()}`)
    const response = await send({ ...outgoing, headers })
    if (response.status === 401) tokens.forget(token)
    return response
  }
}

/** What a call without a token would be answered with; what went wrong on the wire stays what it is. */
function refusalOf(thrown: unknown): Response {
  if (!(thrown instanceof TokenRefusedError)) throw thrown
  const { status } = thrown
  return new Response(null, { status: status >= 400 && status < 500 && status !== 429 ? 401 : 503 })
}

/** Several calls wait for one token; each leaves when its own time is up. */
function untilAborted<T>(promise: Promise<T>, { signal }: Abort): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener("abort", leave, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave))
  })
}

async function checkToken(tokens: GoogleTokens): Promise<Verdict> {
  try {
    await tokens.token()
    return { verdict: "accepted: a token was obtained", sound: true }
  } catch (thrown) {
    if (thrown instanceof TokenRefusedError) {
      return { verdict: `refused (status ${thrown.status}, ${thrown.reason})`, sound: false }
    }
    const met = failure(thrown, new Abort())
    const why = met instanceof TransportError ? met.fault : "unknown"
    return { verdict: `unknown: no answer from the token's address (${why})`, sound: false }
  }
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
  },
  addressOf,
  speaks: {
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
