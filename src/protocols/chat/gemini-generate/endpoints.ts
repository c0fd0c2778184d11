// The protocol's paths, in all spellings of its clients, and the parser of their open end.
import { excerpt, GatewayError } from "../../../canonical/gateway-error.ts"
import type { ProtocolPath, RequestEnvelope } from "../../contract.ts"

export const prefixes = ["/genapi", "/gemini"] as const

/** The last one results from a base address that already has a version. */
const VERSIONS = ["v1beta", "v1", "v1beta1", "v1alpha", "v1beta/v1beta"]
/** Versions without a prefix: `/v1` alone is OpenAI's. */
const BARE_VERSIONS = VERSIONS.filter((version) => version !== "v1")
const BASES = [
  ...prefixes.flatMap((prefix) => VERSIONS.map((version) => `${prefix}/${version}`)),
  ...BARE_VERSIONS.map((version) => `/${version}`),
]

const below = (...ends: readonly string[]): string[] => BASES.flatMap((base) => ends.map((end) => `${base}/${end}`))

export function isVendorPath(path: string): boolean {
  return !path.startsWith("/genapi/")
}

/** Paths with and without `models/` are open for both methods: only the longest open path is checked for its method. */
export const endpoints: readonly ProtocolPath[] = [
  { method: "POST", paths: below("{rest}", "models/{rest}"), does: "generate" },
  { method: "GET", paths: below("models"), does: "list-models" },
  { method: "GET", paths: below("models/count"), does: "count-models" },
  { method: "GET", paths: below("{rest}", "models/{rest}"), does: "get-model" },
]

const METHODS = ["generateContent", "streamGenerateContent", "countTokens"] as const
const EMBEDDING_METHODS = ["embedContent", "batchEmbedContents"] as const

export interface GenerateCall {
  readonly model: string
  readonly method: (typeof METHODS)[number]
}

interface EmbedCall {
  readonly model: string
  readonly method: (typeof EMBEDDING_METHODS)[number]
}

export function checkEnvelope({ does, rest }: RequestEnvelope): void {
  if (does === "generate") readPath(rest)
}

/** True if a path requests embeddings, whatever else is wrong with it. */
export function isEmbeddingPath(rest: string): boolean {
  return EMBEDDING_METHODS.some((method) => rest.endsWith(`:${method}`))
}

export function readEmbeddingPath(rest: string): EmbedCall {
  const { before, word } = splitAtMethod(rest)
  const method = EMBEDDING_METHODS.find((known) => known === word)
  if (!method) throw unknownMethod(word)
  return { model: modelName(before), method }
}

/** Callers use few models, so parsed paths are cached. */
const parsedPaths = new Map<string, GenerateCall>()
const MAX_READ = 1000

/** Parses `models/openai/gpt-4o:generateContent` and its variants. A model's name may contain colons. */
export function readPath(rest: string): GenerateCall {
  const known = parsedPaths.get(rest)
  if (known) return known
  const parsed = parseGeneratePath(rest)
  if (parsedPaths.size >= MAX_READ) parsedPaths.clear()
  parsedPaths.set(rest, parsed)
  return parsed
}

function parseGeneratePath(rest: string): GenerateCall {
  const { before, word } = splitAtMethod(rest)
  const method = METHODS.find((known) => known === word)
  if (!method) throw unknownMethod(word)
  return { model: modelName(before), method }
}

function splitAtMethod(rest: string): { before: string; word: string } {
  const colon = rest.lastIndexOf(":")
  return colon < 0 ? { before: rest, word: "" } : { before: rest.slice(0, colon), word: rest.slice(colon + 1) }
}

const PUBLISHED = /^(?:models\/)?(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/([^/]+)\/models\/(.+)$/
const MODEL_NAME = /^[A-Za-z0-9_@][A-Za-z0-9_.:@-]*(?:\/[A-Za-z0-9_@][A-Za-z0-9_.:@-]*)*$/
const MAX_NAME_LENGTH = 200

/** The model's name in a path, with any prefix. */
export function nameIn(path: string): string {
  const [, publisher, model] = PUBLISHED.exec(path) ?? []
  return publisher === undefined ? path.replace(/^models\//, "") : `${publisher}/${model}`
}

function modelName(path: string): string {
  const name = nameIn(path)
  if (name.length <= MAX_NAME_LENGTH && MODEL_NAME.test(name)) return name
  const message = `\`${excerpt(name)}\` is not a model's name: it must have the form <provider>/<model-name>.`
  throw new GatewayError("invalid_parameter", message, { param: "model" })
}

function unknownMethod(word: string): GatewayError {
  const problem = word === "" ? "The path names no method" : `There is no method \`${excerpt(word)}\``
  const known = [...METHODS, ...EMBEDDING_METHODS]
  return new GatewayError(
    "route_not_found",
    `${problem}. The model's name must be followed by one of :${known.join(", :")}.`,
  )
}
