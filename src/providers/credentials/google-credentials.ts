// Google's access tokens: of a service account's key, of workload identity, of a user's login, or of the metadata
// server of the gateway's machine.
import { createSign } from "node:crypto"
import type { AuthorizedUser, GoogleCredentials, ServiceAccount } from "../../config/config.ts"
import type { Secret } from "../../config/secret.ts"
import { fetchCredential, formRequest, readToken } from "./credential-request.ts"
import type { CloudCredentialSource } from "./credential-source.ts"
import { externalAccountSource } from "./google-external-account.ts"
import { GOOGLE_SCOPE } from "./google-scope.ts"
import type { VariableReader } from "./variable-reader.ts"

/** Variables that configure the metadata server. */
export const GOOGLE_VARIABLES = ["GCE_METADATA_HOST"] as const

/** The source for a credential file. */
export function googleFileSource(credentials: GoogleCredentials): CloudCredentialSource<Secret> {
  if (credentials.type === "service_account") return serviceAccountSource(credentials)
  return credentials.type === "external_account" ? externalAccountSource(credentials) : userSource(credentials)
}

const JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const STATEMENT_SECONDS = 3600

function serviceAccountSource(account: ServiceAccount): CloudCredentialSource<Secret> {
  return {
    name: `service account file ${account.file}`,
    remedy: "Check that the key has not been deleted, that the account is enabled, and this machine's clock",
    async fetch(abort) {
      const fields = { grant_type: JWT_GRANT, assertion: signJwt(account, Date.now()) }
      return readToken(await fetchCredential(formRequest(account.tokenUri, fields), abort))
    },
  }
}

/** A signed JSON web token that requests access for the account. */
function signJwt({ clientEmail, privateKey, privateKeyId, tokenUri }: ServiceAccount, now: number): string {
  const issuedAt = Math.floor(now / 1000)
  const head = { alg: "RS256", typ: "JWT", ...(privateKeyId !== undefined && { kid: privateKeyId }) }
  const times = { iat: issuedAt, exp: issuedAt + STATEMENT_SECONDS }
  const claims = { iss: clientEmail, scope: GOOGLE_SCOPE, aud: tokenUri, ...times }
  const signingInput = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")
  const signature = createSign("RSA-SHA256").update(signingInput).sign(privateKey.reveal(), "base64url")
  return `${signingInput}.${signature}`
}

function userSource(user: AuthorizedUser): CloudCredentialSource<Secret> {
  return {
    name: `user credentials file ${user.file}`,
    remedy: "Log in anew with `gcloud auth application-default login`",
    async fetch(abort) {
      const fields = {
        grant_type: "refresh_token",
        client_id: user.clientId,
        client_secret: user.clientSecret.reveal(),
        refresh_token: user.refreshToken.reveal(),
      }
      return readToken(await fetchCredential(formRequest(user.tokenUri, fields), abort))
    },
  }
}

const METADATA_HOST = "metadata.google.internal"
const TOKEN_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"

export function metadataSource(
  variables: VariableReader<(typeof GOOGLE_VARIABLES)[number]>,
): CloudCredentialSource<Secret> {
  const host = variables.get("GCE_METADATA_HOST") ?? METADATA_HOST
  const origin = /^https?:\/\//i.test(host) ? host.replace(/\/+$/, "") : `http://${host}`
  return {
    name: "metadata server",
    remedy:
      "On Google Cloud, attach a service account with the role Vertex AI User; elsewhere give credentials_file or set GOOGLE_APPLICATION_CREDENTIALS",
    async fetch(abort) {
      const headers = { "metadata-flavor": "Google" }
      return readToken(await fetchCredential({ method: "GET", url: origin + TOKEN_PATH, headers }, abort))
    },
  }
}
