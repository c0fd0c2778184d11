// Adds a fetched credential to every call of an account, and names its origin.
import type { Secret } from "../../config/secret.ts"
import type { Abort } from "../../transport/abort.ts"
import type { SendRequest, UpstreamRequest } from "../../transport/http-client.ts"
import type { UpstreamResponse } from "../../transport/http-response.ts"
import type { CredentialVerdict, RequestSigner } from "../contract.ts"
import type { CredentialRefresher } from "./credential-refresher.ts"
import { CredentialError } from "./credential-source.ts"

export interface FetchedCredentialUse<Credential> {
  /** The headers of a call, with the credential. */
  prove(call: UpstreamRequest, credential: Credential): Headers
  /** True if a response means that the credential is no longer valid. */
  isStale(answer: UpstreamResponse): boolean
  /** Checks the credential at the provider. */
  check(credential: Credential): Promise<CredentialVerdict>
}

export function fetchedSigner<Credential extends object>(
  refresher: CredentialRefresher<Credential>,
  use: FetchedCredentialUse<Credential>,
): RequestSigner {
  return {
    source: refresher.source.name,
    sign: (send) => sendWithProof(send, refresher, use),
    minted: () => refresher.secrets(),
    async check() {
      try {
        return await use.check(await refresher.get())
      } catch (thrown) {
        if (thrown instanceof CredentialError) return { verdict: `not obtained: ${thrown.message}`, sound: false }
        throw thrown
      }
    },
  }
}

/** Use of a bearer token. */
export function bearerUse(check: (token: Secret) => Promise<CredentialVerdict>): FetchedCredentialUse<Secret> {
  return {
    prove: ({ headers }, token) => bearerHeaders(headers, token),
    isStale: ({ status }) => status === 401,
    check,
  }
}

export function bearerHeaders(headers: Headers | undefined, token: Secret): Headers {
  const all = new Headers(headers)
  all.set("authorization", `Bearer ${token.reveal()}`)
  return all
}

function sendWithProof<Credential extends object>(
  send: SendRequest,
  refresher: CredentialRefresher<Credential>,
  { prove, isStale }: FetchedCredentialUse<Credential>,
): SendRequest {
  return async (outgoing) => {
    const credential =
      refresher.current() ?? (await untilAborted(refresher.get(), outgoing.abort).catch(toErrorResponse))
    if (credential instanceof Response) return credential
    const answer = await send({ ...outgoing, headers: prove(outgoing, credential) })
    if (isStale(answer)) refresher.forget(credential)
    return answer
  }
}

/** The response to a call without a credential; a transient failure does not count against the account. */
function toErrorResponse(thrown: unknown): Response {
  if (!(thrown instanceof CredentialError)) throw thrown
  return new Response(null, { status: thrown.isPassing ? 503 : 401 })
}

/** Several calls wait for one fetch; each stops waiting at its own deadline. */
function untilAborted<T>(promise: Promise<T>, { signal }: Abort): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener("abort", leave, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave))
  })
}
