// Builds the HTTP request for an explanation, per protocol.
import { isObject, type JsonObject } from "../canonical/json.ts"

export interface ExplainRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
}

interface ProtocolAddress {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Paths of the protocols whose requests name the model in the body. */
const PROTOCOL_ADDRESSES: Readonly<Record<string, ProtocolAddress>> = {
  "openai-chat": { path: "/v1/chat/completions" },
  "openai-responses": { path: "/v1/responses" },
  "openai-embeddings": { path: "/v1/embeddings" },
  "openai-images": { path: "/v1/images/generations" },
  "anthropic-messages": { path: "/anthropic/v1/messages", headers: { "anthropic-version": "2023-06-01" } },
}
const GEMINI = ["gemini-generate", "gemini"]

export const PROTOCOL_NAMES: readonly string[] = [...Object.keys(PROTOCOL_ADDRESSES), ...GEMINI]

interface ExplainTarget {
  readonly protocol?: string
  readonly model?: string
}

/** Throws an Error if no model is given. */
export function buildExplainRequest(
  given: JsonObject,
  { protocol = protocolOf(given), model }: ExplainTarget,
): ExplainRequest {
  const { model: own, ...rest } = given
  const named = model ?? own
  if (typeof named !== "string") throw new Error("The request has no model. Set one with --model.")
  const provider = { ...(isObject(given.provider) && given.provider), explain: true }
  const address = PROTOCOL_ADDRESSES[protocol]
  if (address) return { headers: {}, ...address, body: { ...rest, model: named, provider } }
  const name = named
    .replace(/^models\//, "")
    .split("/")
    .map(encodeURIComponent)
    .join("/")
  return { path: `/gemini/v1beta/models/${name}:generateContent`, headers: {}, body: { ...rest, provider } }
}

/** Detects the protocol by members that only one protocol has; chat completions by default. */
function protocolOf(body: JsonObject): string {
  if (body.contents !== undefined) return "gemini-generate"
  if (body.input !== undefined) return "openai-responses"
  if (body.prompt !== undefined) return "openai-images"
  return body.system === undefined && body.stop_sequences === undefined ? "openai-chat" : "anthropic-messages"
}
