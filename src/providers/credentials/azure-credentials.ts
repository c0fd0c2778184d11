// Entra tokens for Azure: of an application with its secret, of a workload with a federated token, or of the managed
// identity of the gateway's machine.
import type { Secret } from "../../config/secret.ts"
import {
  type CredentialRequest,
  type CredentialResponse,
  fetchCredential,
  formRequest,
  readToken,
  readTokenFile,
  responseMembers,
} from "./credential-request.ts"
import { type CloudCredentialSource, CredentialError, type IssuedCredential } from "./credential-source.ts"
import type { VariableReader } from "./variable-reader.ts"

/** Variables that configure an identity. */
export const AZURE_VARIABLES = [
  "AZURE_TENANT_ID",
  "AZURE_CLIENT_ID",
  "AZURE_FEDERATED_TOKEN_FILE",
  "IDENTITY_ENDPOINT",
  "IDENTITY_HEADER",
  "AZURE_POD_IDENTITY_AUTHORITY_HOST",
] as const

type AzureVariables = VariableReader<(typeof AZURE_VARIABLES)[number]>

interface EntraApplication {
  readonly tenantId: string
  readonly clientId: string
}

export interface EntraOptions {
  readonly authorityHost?: string | undefined
  /** The token's audience, such as `https://cognitiveservices.azure.com`. */
  readonly resource: string
}

const AUTHORITY_HOST = "https://login.microsoftonline.com"

export function clientSecretSource(
  application: EntraApplication & { readonly clientSecret: Secret },
  options: EntraOptions,
): CloudCredentialSource<Secret> {
  return {
    name: `Entra client secret (application ${application.clientId})`,
    remedy: "Check tenant_id, client_id, and that client_secret is a secret's value and has not expired",
    async fetch(abort) {
      const proof = { client_secret: application.clientSecret.reveal() }
      return readEntraToken(await fetchCredential(tokenRequest(application, proof, options), abort))
    },
  }
}

interface IdentityOptions extends EntraOptions {
  /** The entry's own identity, if the environment names another or none. */
  readonly tenantId?: string | undefined
  readonly clientId?: string | undefined
}

/** The first source that the environment configures: workload identity, App Service, or else the virtual machine's. */
export function azureIdentitySource(
  variables: AzureVariables,
  options: IdentityOptions,
): CloudCredentialSource<Secret> {
  const tenantId = options.tenantId ?? variables.get("AZURE_TENANT_ID")
  const clientId = options.clientId ?? variables.get("AZURE_CLIENT_ID")
  const file = variables.get("AZURE_FEDERATED_TOKEN_FILE")
  if (file !== undefined) return federatedSource({ tenantId, clientId }, file, options)
  const endpoint = variables.get("IDENTITY_ENDPOINT")
  const header = variables.get("IDENTITY_HEADER")
  const query = { resource: options.resource, ...(clientId !== undefined && { client_id: clientId }) }
  if (endpoint !== undefined && header !== undefined) return appServiceSource({ endpoint, header, query })
  return virtualMachineSource(variables.get("AZURE_POD_IDENTITY_AUTHORITY_HOST"), query)
}

function federatedSource(
  { tenantId, clientId }: Partial<{ [Member in keyof EntraApplication]: string | undefined }>,
  file: string,
  options: EntraOptions,
): CloudCredentialSource<Secret> {
  return {
    name: `Entra workload identity (application ${clientId ?? "unknown"})`,
    remedy: "Check AZURE_TENANT_ID, AZURE_CLIENT_ID and the application's federated credential",
    async fetch(abort) {
      if (tenantId === undefined || clientId === undefined) {
        throw new CredentialError("AZURE_FEDERATED_TOKEN_FILE is set, but AZURE_TENANT_ID or AZURE_CLIENT_ID is not")
      }
      const proof = {
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: await readTokenFile(file),
      }
      return readEntraToken(await fetchCredential(tokenRequest({ tenantId, clientId }, proof, options), abort))
    },
  }
}

function tokenRequest(
  { tenantId, clientId }: EntraApplication,
  proof: Readonly<Record<string, string>>,
  { authorityHost = AUTHORITY_HOST, resource }: EntraOptions,
): CredentialRequest {
  const url = `${authorityHost}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`
  const scope = `${resource}/.default`
  return formRequest(url, { grant_type: "client_credentials", client_id: clientId, scope, ...proof })
}

/** Entra's error numbers are more specific than its messages. */
function readEntraToken(answer: CredentialResponse): IssuedCredential<Secret> {
  const { error_codes: codes } = responseMembers(answer)
  const [code] = Array.isArray(codes) ? codes : []
  return readToken(answer, Number.isSafeInteger(code) ? `AADSTS${code}` : undefined)
}

const MANAGED_REMEDY =
  "In Azure, turn on a managed identity (where it has several, name one with client_id) and give it the role Cognitive Services OpenAI User; elsewhere give api_key, or tenant_id, client_id and client_secret"

function appServiceSource({
  endpoint,
  header,
  query,
}: {
  readonly endpoint: string
  readonly header: string
  readonly query: Readonly<Record<string, string>>
}): CloudCredentialSource<Secret> {
  return {
    name: "managed identity (App Service)",
    remedy: MANAGED_REMEDY,
    async fetch(abort) {
      const url = `${endpoint}?${new URLSearchParams({ "api-version": "2019-08-01", ...query })}`
      const headers = { "x-identity-header": header }
      return readToken(await fetchCredential({ method: "GET", url, headers }, abort))
    },
  }
}

const METADATA_HOST = "http://169.254.169.254"

function virtualMachineSource(
  host = METADATA_HOST,
  query: Readonly<Record<string, string>>,
): CloudCredentialSource<Secret> {
  return {
    name: "managed identity (instance metadata)",
    remedy: MANAGED_REMEDY,
    async fetch(abort) {
      const parameters = new URLSearchParams({ "api-version": "2018-02-01", ...query })
      const url = `${host.replace(/\/+$/, "")}/metadata/identity/oauth2/token?${parameters}`
      return readToken(await fetchCredential({ method: "GET", url, headers: { metadata: "true" } }, abort))
    },
  }
}
