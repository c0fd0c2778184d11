// Requests a credential from a host: directly if it is called without TLS, because that is this machine or its cloud
// and not for a proxy; without redirects, and within bounds.
import { readFile } from "node:fs/promises"
import { Secret } from "../../config/secret.ts"
import type { Abort } from "../../transport/abort.ts"
import { httpSend, httpSender, type UpstreamRequest } from "../../transport/http-client.ts"
import { decodeUtf8 } from "../../transport/json/byte-text.ts"
import { readAll } from "../../transport/read-all.ts"
import { CredentialError, type IssuedCredential } from "./credential-source.ts"

const MAX_RESPONSE_BYTES = 64 * 1024
const CONNECT_MS = 2000
const DEFAULT_LIFETIME_S = 3600

const sendDirectly = httpSender()

export interface CredentialRequest {
  readonly method: NonNullable<UpstreamRequest["method"]>
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface CredentialResponse {
  readonly status: number
  readonly text: string
}

export async function fetchCredential(request: CredentialRequest, abort: Abort): Promise<CredentialResponse> {
  const { method, url, headers = {}, body = "" } = request
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new CredentialError("its address is not an http(s) URL")
  const send = /^https:/i.test(url) ? httpSend : sendDirectly
  const own = { accept: "application/json", "accept-encoding": "identity", "user-agent": "trivium" }
  const answer = await send({
    method,
    url,
    headers: new Headers({ ...own, ...headers }),
    body,
    abort,
    connectMs: CONNECT_MS,
  })
  return { status: answer.status, text: decodeUtf8(await readAll(answer, MAX_RESPONSE_BYTES)) }
}

/** A form body, as OAuth and AWS accept it. */
export function formRequest(url: string, fields: Readonly<Record<string, string>>): CredentialRequest {
  const body = new URLSearchParams(fields).toString()
  return { method: "POST", url, headers: { "content-type": "application/x-www-form-urlencoded" }, body }
}

/** The members of a JSON answer; none if it is not an object. */
export function responseMembers({ text }: CredentialResponse): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** The error for a response without a credential; it contains at most a short code of the response. */
export function credentialRefusal({ status }: CredentialResponse, code: unknown): CredentialError {
  const word = typeof code === "string" && /^[A-Za-z0-9_.-]{1,60}$/.test(code) ? ` (${code})` : ""
  const what = status >= 200 && status < 300 ? "its response contains no credential" : `it answered ${status}${word}`
  return new CredentialError(what, status >= 500 || status === 429)
}

/** The token from an OAuth endpoint, or from a metadata server with the same format. */
export function readToken(answer: CredentialResponse, code?: unknown): IssuedCredential<Secret> {
  const members = responseMembers(answer)
  const token = members.access_token
  if (answer.status !== 200 || !isHeaderText(token)) throw credentialRefusal(answer, code ?? members.error)
  return { credential: new Secret(token), expiresAt: expiryOf(members) }
}

/** `expires_on` is a time, `expires_in` a number of seconds; either may be a string. */
function expiryOf({ expires_on: moment, expires_in: seconds }: Readonly<Record<string, unknown>>): number {
  const until = readPositive(moment)
  return until === undefined ? Date.now() + (readPositive(seconds) ?? DEFAULT_LIFETIME_S) * 1000 : until * 1000
}

function readPositive(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,12}$/.test(value) ? Number(value) : value
  return typeof number === "number" && number > 0 ? number : undefined
}

/** Text that is valid as the value of a header. */
export function isHeaderText(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value)
}

/** A token that a platform keeps in a file and rewrites from time to time, so it is read for every use. */
export async function readTokenFile(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((thrown: NodeJS.ErrnoException) => {
    throw new CredentialError(`the file ${path} cannot be read (${thrown.code ?? "unknown error"})`)
  })
  const token = text.trim()
  if (token === "") throw new CredentialError(`the file ${path} is empty`)
  return token
}
