// Azure OpenAI: OpenAI's protocols at a customer's own address, with models named by their deployment.
import type { Secret } from "../config/secret.ts"
import {
  type AccountSettings,
  BOTH_LIMITS,
  type ProtocolDialect,
  type Provider,
  type ProviderOperation,
  type RequestSigner,
  type SignerContext,
} from "./contract.ts"
import { AZURE_VARIABLES, azureIdentitySource, clientSecretSource } from "./credentials/azure-credentials.ts"
import { CredentialRefresher } from "./credentials/credential-refresher.ts"
import { bearerHeaders, bearerUse, fetchedSigner } from "./credentials/credential-signer.ts"
import { VariableReader } from "./credentials/variable-reader.ts"
import { probeCredential } from "./open-account.ts"

const apiKey = (credential: Secret | undefined): Record<string, string> =>
  credential ? { "api-key": credential.reveal() } : {}

/** The interface without versions by default; with a version, the older one with the deployment in the path. */
function path({ operation, model, usualPath }: ProviderOperation, { apiVersion }: AccountSettings): string {
  if (apiVersion === undefined) return v1({ usualPath })
  const at = operation === "list-models" ? "" : `/deployments/${encodeURIComponent(model)}`
  return `/openai${at}${usualPath}?api-version=${apiVersion}`
}

function v1({ usualPath }: Pick<ProviderOperation, "usualPath">): string {
  return `/openai/v1${usualPath}`
}

const openai: ProtocolDialect = {
  streamUsage: "ask",
  limitMembers: BOTH_LIMITS,
  headers: apiKey,
  serves: (model) => !isClaude(model),
  path,
}

/** Anthropic's models have their own host. */
const anthropic: ProtocolDialect = {
  streamUsage: "sent",
  headers: (credential) => (credential ? { "x-api-key": credential.reveal() } : {}),
  baseUrl: ({ resource }) => resource && `https://${resource}.services.ai.azure.com/anthropic`,
  serves: isClaude,
}

function isClaude(deployment: string): boolean {
  return deployment.startsWith("claude")
}

/** The token resource; each of Azure's clouds has its own, which the host's name determines. */
function entraResource(address: string): string {
  const cloud = /\.azure\.(us|cn)$/.exec(new URL(address).hostname)?.[1] ?? "com"
  return `https://cognitiveservices.azure.${cloud}`
}

/** A key needs no token. */
function signer(settings: AccountSettings, { address, onFailure }: SignerContext): RequestSigner | undefined {
  const { apiKey, tenantId, clientId, clientSecret, ambient, authorityHost } = settings
  if (apiKey) return undefined
  const options = { authorityHost, resource: entraResource(address) }
  const isApplication = tenantId !== undefined && clientId !== undefined && clientSecret !== undefined
  const source = isApplication
    ? clientSecretSource({ tenantId, clientId, clientSecret }, options)
    : ambient && azureIdentitySource(new VariableReader(ambient), { ...options, tenantId, clientId })
  if (!source) return undefined
  const listing = `${address}/openai/v1/models`
  const use = bearerUse((token) => probeCredential(listing, bearerHeaders(undefined, token)))
  return fetchedSigner(new CredentialRefresher(source, { onFailure }), use)
}

export const azure: Provider = {
  id: "azure",
  name: "Azure OpenAI",
  environmentVariable: "AZURE_OPENAI_API_KEY",
  needsCredential: true,
  form: {
    members: {
      api_key: {},
      api_keys: {},
      api_version: {},
      resource: { variables: ["AZURE_OPENAI_RESOURCE"], needed: "for-address" },
      base_url: { variables: ["AZURE_OPENAI_ENDPOINT"] },
      tenant_id: { variables: ["AZURE_TENANT_ID"] },
      client_id: { variables: ["AZURE_CLIENT_ID"] },
      client_secret: { variables: ["AZURE_CLIENT_SECRET"] },
      authority_host: { variables: ["AZURE_AUTHORITY_HOST"] },
    },
    proofs: [{ needs: ["api_key"] }, { needs: ["api_keys"] }, { needs: ["tenant_id", "client_id", "client_secret"] }],
    ambient: {
      variables: AZURE_VARIABLES,
      mayHave: ["tenant_id", "client_id"],
      hosts: [".azure.com", ".azure.us", ".azure.cn", ".azure-api.net"],
    },
  },
  /** A base address that already includes the beginning of the path is accepted too. */
  addressOf: ({ baseUrl, resource }) =>
    baseUrl?.replace(/\/openai(\/v1)?$/, "") ?? (resource && `https://${resource}.openai.azure.com`),
  dialects: {
    "openai-chat": openai,
    // No version has this protocol at a deployment's path.
    "openai-responses": { ...openai, path: v1 },
    "openai-embeddings": openai,
    "openai-images": openai,
    "anthropic-messages": anthropic,
  },
  signer,
}
