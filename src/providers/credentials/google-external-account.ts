// Workload identity federation: exchanges the token of another identity provider for one of Google's, and that, if the
// file names one, for a service account's.
import type { ExternalAccount, SubjectTokenSource } from "../../config/config.ts"
import { Secret } from "../../config/secret.ts"
import type { Abort } from "../../transport/abort.ts"
import {
  type CredentialResponse,
  credentialRefusal,
  fetchCredential,
  formRequest,
  isHeaderText,
  readToken,
  readTokenFile,
  responseMembers,
} from "./credential-request.ts"
import { type CloudCredentialSource, CredentialError, type IssuedCredential } from "./credential-source.ts"
import { GOOGLE_SCOPE } from "./google-scope.ts"

const EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"

export function externalAccountSource(account: ExternalAccount): CloudCredentialSource<Secret> {
  return {
    name: `workload identity file ${account.file}`,
    remedy: "Check the token of its credential_source, its audience, and what the pool allows the workload",
    async fetch(abort) {
      const exchanged = await exchangeToken(account, await readSubjectToken(account.subjectToken, abort), abort)
      if (account.impersonationUrl === undefined) return exchanged
      return impersonate(account, exchanged.credential, abort)
    },
  }
}

async function readSubjectToken(source: SubjectTokenSource, abort: Abort): Promise<string> {
  const text = "file" in source ? await readTokenFile(source.file) : await fetchSubjectToken(source, abort)
  const token = source.field === undefined ? text.trim() : responseMembers({ status: 200, text })[source.field]
  if (typeof token === "string" && token !== "") return token
  throw new CredentialError("its credential_source contains no token")
}

async function fetchSubjectToken(
  { url, headers }: Extract<SubjectTokenSource, { url: string }>,
  abort: Abort,
): Promise<string> {
  const answer = await fetchCredential({ method: "GET", url, headers }, abort)
  if (answer.status === 200) return answer.text
  const { message } = credentialRefusal(answer, undefined)
  throw new CredentialError(`the address of its credential_source: ${message}`, answer.status >= 500)
}

async function exchangeToken(account: ExternalAccount, token: string, abort: Abort): Promise<IssuedCredential<Secret>> {
  const request = formRequest(account.tokenUrl, {
    grant_type: EXCHANGE_GRANT,
    audience: account.audience,
    scope: GOOGLE_SCOPE,
    requested_token_type: ACCESS_TOKEN_TYPE,
    subject_token: token,
    subject_token_type: account.subjectTokenType,
  })
  const headers = { ...request.headers, ...clientAuthorization(account) }
  return readToken(await fetchCredential({ ...request, headers }, abort))
}

function clientAuthorization({ clientId, clientSecret }: ExternalAccount): Record<string, string> {
  if (clientId === undefined) return {}
  const pair = `${clientId}:${clientSecret?.reveal() ?? ""}`
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` }
}

async function impersonate(account: ExternalAccount, token: Secret, abort: Abort): Promise<IssuedCredential<Secret>> {
  const { impersonationUrl: url = "", impersonationSeconds: seconds } = account
  const body = JSON.stringify({ scope: [GOOGLE_SCOPE], ...(seconds !== undefined && { lifetime: `${seconds}s` }) })
  const headers = { "content-type": "application/json", authorization: `Bearer ${token.reveal()}` }
  return readImpersonated(await fetchCredential({ method: "POST", url, headers, body }, abort))
}

function readImpersonated(answer: CredentialResponse): IssuedCredential<Secret> {
  const { accessToken, expireTime, error } = responseMembers(answer)
  const expiresAt = typeof expireTime === "string" ? Date.parse(expireTime) : Number.NaN
  if (answer.status === 200 && isHeaderText(accessToken) && !Number.isNaN(expiresAt)) {
    return { credential: new Secret(accessToken), expiresAt }
  }
  const status = typeof error === "object" && error !== null && "status" in error ? error.status : undefined
  const { message, isPassing } = credentialRefusal(answer, status)
  throw new CredentialError(`the service account's impersonation: ${message}`, isPassing)
}
