// Amazon Bedrock: Anthropic's protocol for Claude, Converse for every model; the model in the path, signed calls,
// streams in AWS's own frames.

import type { UpstreamResponse } from "../transport/http-response.ts"
import { fromByteText, toByteText } from "../transport/json/byte-text.ts"
import { type JsonEdit, spliceJson } from "../transport/json/json-splice.ts"
import { readAll } from "../transport/read-all.ts"
import { toAnthropicResponse, toConverseResponse } from "./bedrock-response.ts"
import type {
  AccountSettings,
  EmbeddingLimits,
  ProtocolDialect,
  Provider,
  ProviderOperation,
  RequestSigner,
  SignerContext,
} from "./contract.ts"
import { awsSource } from "./credentials/aws-credentials.ts"
import { AWS_VARIABLES } from "./credentials/aws-variables.ts"
import { CredentialRefresher } from "./credentials/credential-refresher.ts"
import { fetchedSigner } from "./credentials/credential-signer.ts"
import { VariableReader } from "./credentials/variable-reader.ts"
import { originOf, probeCredential, selectValues } from "./open-account.ts"
import { type AwsScope, encodeSegment, signedHeaders } from "./sigv4.ts"

const VERSION: JsonEdit = { path: ["anthropic_version"], set: '"bedrock-2023-05-31"' }

/** The accepted `anthropic-beta` values (November 2026); a request with any other is rejected. */
const BETAS = [
  "compact-2026-01-12",
  "computer-use-2024-10-22",
  "computer-use-2025-01-24",
  "computer-use-2025-11-24",
  "context-1m-2025-08-07",
  "context-management-2025-06-27",
  "dev-full-thinking-2025-05-14",
  "effort-2025-11-24",
  "fine-grained-tool-streaming-2025-05-14",
  "interleaved-thinking-2025-05-14",
  "output-128k-2025-02-19",
  "token-efficient-tools-2025-02-19",
  "tool-examples-2025-10-29",
  "tool-search-tool-2025-10-19",
]

const COUNT = "count-tokens"

const messages: ProtocolDialect = {
  streamUsage: "sent",
  headers: () => ({}),
  takesHeaders: {},
  lacksRemoteServers: true,
  /** Model and inference profile ids name the vendor; an ARN may not, and was chosen by the operator. */
  serves: (model) => /(^|\.)anthropic\./.test(model) || model.startsWith("arn:"),
  path({ operation, model, stream }) {
    const action = operation === "count_tokens" ? COUNT : stream ? "invoke-with-response-stream" : "invoke"
    return `/model/${encodeSegment(model)}/${action}`
  },
  edits: bodyEdits,
  wrap: (send) => async (outgoing) => {
    const counts = outgoing.url.endsWith(`/${COUNT}`)
    const answer = await send(counts ? { ...outgoing, body: countBody(outgoing.body) } : outgoing)
    return toAnthropicResponse(answer, { counts })
  },
}

const converse: ProtocolDialect = {
  streamUsage: "sent",
  headers: () => ({}),
  takesHeaders: {},
  wrap: (send) => async (outgoing) => toConverseResponse(await send(outgoing)),
}

/** InvokeModel creates embeddings, each vendor's in its own format. */
function embedding(embeds: EmbeddingLimits, serves: (model: string) => boolean): ProtocolDialect {
  return {
    streamUsage: "sent",
    headers: () => ({}),
    takesHeaders: {},
    embeds,
    serves,
    path: ({ model }) => `/model/${encodeSegment(model)}/invoke`,
    edits: () => [{ path: ["model"], remove: true }],
    wrap: (send) => async (outgoing) => withCount(await toConverseResponse(await send(outgoing))),
  }
}

const INVOKED_INPUT = "x-amzn-bedrock-input-token-count"
const MAX_VECTOR_BYTES = 64 * 1024 * 1024

/** The input token count is in a header; this moves it into the body, where streams have it. */
async function withCount(answer: UpstreamResponse): Promise<UpstreamResponse> {
  const count = answer.headers.get(INVOKED_INPUT) ?? ""
  if (!answer.ok || !/^\d{1,12}$/.test(count)) return answer
  const text = toByteText(await readAll(answer, MAX_VECTOR_BYTES))
  const metrics: JsonEdit = { path: ["amazon-bedrock-invocationMetrics"], set: `{"inputTokenCount":${count}}` }
  return new Response(fromByteText(spliceJson(text, [metrics])))
}

function bodyEdits({ operation, headers }: ProviderOperation): JsonEdit[] {
  const betas = selectValues(headers["anthropic-beta"], BETAS)
  const edits: JsonEdit[] = [{ path: ["model"], remove: true }, { path: ["stream"], remove: true }, VERSION]
  if (betas.length > 0) edits.push({ path: ["anthropic_beta"], set: JSON.stringify(betas) })
  // It counts a whole request, which requires this member.
  if (operation === "count_tokens") edits.push({ path: ["max_tokens"], set: "1" })
  return edits
}

function countBody(body: string | Uint8Array): string {
  const encoded = Buffer.from(body as string).toString("base64")
  return `{"input":{"invokeModel":{"body":"${encoded}"}}}`
}

/** The service name in signatures; the runtime's host name is longer. */
const SERVICE = "bedrock"

function signer(settings: AccountSettings, { address, onFailure }: SignerContext): RequestSigner {
  const { apiKey, accessKeyId, secretAccessKey, ambient, region = "" } = settings
  const listing = `${settings.baseUrl ?? address.replace("//bedrock-runtime.", "//bedrock.")}/foundation-models`
  const list: BedrockSigningRequest = { method: "GET", url: listing, headers: new Headers(), body: "" }
  if (ambient && !apiKey && !accessKeyId) {
    const refresher = new CredentialRefresher(awsSource(new VariableReader(ambient), region), { onFailure })
    return fetchedSigner(refresher, {
      prove: (call, keys) => sign({ method: "POST", ...call }, { keys, region }),
      isStale: ({ headers }) => STALE.test(headers.get("x-amzn-errortype") ?? ""),
      check: (keys) => probeCredential(listing, sign(list, { keys, region })),
    })
  }
  const proven = createProof(settings)
  return {
    source: originOf(accessKeyId && secretAccessKey ? accessKeyId : apiKey),
    sign: (send) => (outgoing) => send({ ...outgoing, headers: proven({ method: "POST", ...outgoing }) }),
    check: () => probeCredential(listing, proven(list)),
  }
}

type BedrockSigningRequest = Parameters<typeof signedHeaders>[0]

/** Errors for expired or unknown keys; a role without permission gets another error. */
const STALE = /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature)/

function sign(request: BedrockSigningRequest, { keys, region }: Pick<AwsScope, "keys" | "region">): Headers {
  return signedHeaders(request, { region, service: SERVICE, keys }, Date.now())
}

/** The headers that authenticate a request: a Bedrock API key, or a signature. */
function createProof({ apiKey, accessKeyId, secretAccessKey, sessionToken, region = "" }: AccountSettings) {
  return (request: BedrockSigningRequest): Headers => {
    if (accessKeyId && secretAccessKey) {
      return sign(request, { keys: { accessKeyId, secretAccessKey, sessionToken }, region })
    }
    const headers = new Headers(request.headers)
    if (apiKey) headers.set("authorization", `Bearer ${apiKey.reveal()}`)
    return headers
  }
}

export const bedrock: Provider = {
  id: "bedrock",
  name: "Amazon Bedrock",
  environmentVariable: "AWS_BEARER_TOKEN_BEDROCK",
  needsCredential: true,
  form: {
    members: {
      api_key: {},
      api_keys: {},
      access_key_id: { variables: ["AWS_ACCESS_KEY_ID"] },
      secret_access_key: { variables: ["AWS_SECRET_ACCESS_KEY"] },
      session_token: { variables: ["AWS_SESSION_TOKEN"] },
      region: { variables: ["AWS_REGION", "AWS_DEFAULT_REGION"], needed: "always" },
    },
    proofs: [
      { needs: ["api_key"] },
      { needs: ["api_keys"] },
      { needs: ["access_key_id", "secret_access_key"], mayHave: ["session_token"] },
    ],
    ambient: { variables: AWS_VARIABLES, hosts: [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"] },
  },
  addressOf({ baseUrl, region }) {
    if (baseUrl !== undefined || region === undefined) return baseUrl
    return `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`
  },
  dialects: {
    "anthropic-messages": messages,
    "bedrock-converse": converse,
    "titan-embed": embedding({ inputs: 1, textOnly: true }, (model) => model.includes("amazon.titan-embed")),
    "nova-embed": embedding({ inputs: 1, textOnly: true }, (model) => /amazon\.nova-.*embed/.test(model)),
    "cohere-embed": embedding({ inputs: 96, textOnly: true }, (model) => model.includes("cohere.embed")),
  },
  signer,
}
