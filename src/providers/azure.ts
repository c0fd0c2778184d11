// Azure OpenAI: OpenAI's protocols at an address of one's own, a model named by its deployment.
import type { Secret } from "../config/secret.ts"
import { type AccountSettings, BOTH_LIMITS, type Dialect, type Errand, type Provider } from "./contract.ts"

const apiKey = (credential: Secret | undefined): Record<string, string> =>
  credential ? { "api-key": credential.reveal() } : {}

/** The interface without versions, unless one is asked for; then the older, with the deployment in the path. */
function path({ operation, model, usualPath }: Errand, { apiVersion }: AccountSettings): string {
  if (apiVersion === undefined) return v1({ usualPath })
  const at = operation === "list-models" ? "" : `/deployments/${encodeURIComponent(model)}`
  return `/openai${at}${usualPath}?api-version=${apiVersion}`
}

function v1({ usualPath }: Pick<Errand, "usualPath">): string {
  return `/openai/v1${usualPath}`
}

const openai: Dialect = {
  streamUsage: "ask",
  limitMembers: BOTH_LIMITS,
  headers: apiKey,
  serves: (model) => !isClaude(model),
  path,
}

/** Anthropic's models stand on a host of their own beside it. */
const anthropic: Dialect = {
  streamUsage: "sent",
  headers: (credential) => (credential ? { "x-api-key": credential.reveal() } : {}),
  baseUrl: ({ resource }) => resource && `https://${resource}.services.ai.azure.com/anthropic`,
  serves: isClaude,
}

function isClaude(deployment: string): boolean {
  return deployment.startsWith("claude")
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
    },
    proofs: [{ needs: ["api_key"] }, { needs: ["api_keys"] }],
  },
  /** The same address is also written with the beginning of the path. */
  addressOf: ({ baseUrl, resource }) =>
    baseUrl?.replace(/\/openai(\/v1)?$/, "") ?? (resource && `https://${resource}.openai.azure.com`),
  speaks: {
    "openai-chat": openai,
    // Its versions never had this protocol at a deployment's path.
    "openai-responses": { ...openai, path: v1 },
    "openai-embeddings": openai,
    "openai-images": openai,
    "anthropic-messages": anthropic,
  },
}
