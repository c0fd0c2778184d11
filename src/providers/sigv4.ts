// AWS Signature Version 4: headers that authenticate the holder of the secret key and protect the request from changes.
import { createHash, createHmac } from "node:crypto"
import type { AwsKeys } from "./credentials/credential-source.ts"

export interface AwsScope {
  readonly region: string
  readonly service: string
  readonly keys: AwsKeys
}

interface SigV4Request {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** Text in ASCII, or bytes. */
  readonly body: string | Uint8Array
}

const ALGORITHM = "AWS4-HMAC-SHA256"

/** The request's headers with its signature, for a time in Unix milliseconds. */
export function signedHeaders({ method, url, headers, body }: SigV4Request, scope: AwsScope, now: number): Headers {
  const { keys, region, service } = scope
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, "")
  const day = time.slice(0, 8)
  const { host, pathname, search } = new URL(url)
  const signed = new Headers(headers)
  signed.set("x-amz-date", time)
  if (keys.sessionToken) signed.set("x-amz-security-token", keys.sessionToken.reveal())
  const named = coveredHeaders(signed, host)
  const names = named.map(([name]) => name).join(";")
  const canonical = [
    method,
    canonicalPath(pathname),
    canonicalQuery(search),
    ...named.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    sha256(body),
  ].join("\n")
  const credentialScope = `${day}/${region}/${service}/aws4_request`
  const signature = hmac(
    signingKey(scope, day),
    `${ALGORITHM}\n${time}\n${credentialScope}\n${sha256(canonical)}`,
  ).toString("hex")
  const credential = `Credential=${keys.accessKeyId.reveal()}/${credentialScope}`
  signed.set("authorization", `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}`)
  return signed
}

/** Only headers that a proxy has no reason to change. */
function coveredHeaders(headers: Headers, host: string): [string, string][] {
  const covered: [string, string][] = [["host", host]]
  for (const [name, value] of headers) {
    if (name === "content-type" || name.startsWith("x-amz-")) covered.push([name, value.trim().replace(/ +/g, " ")])
  }
  return covered.sort(([one], [other]) => (one < other ? -1 : 1))
}

/** Every service except S3 signs the path encoded once more than it is sent. */
function canonicalPath(path: string): string {
  return path.split("/").map(encodeSegment).join("/")
}

function canonicalQuery(search: string): string {
  if (search.length < 2) return ""
  const pairs = search
    .slice(1)
    .split("&")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=")
      return `${encodeSegment(decodeURIComponent(name))}=${encodeSegment(decodeURIComponent(value.join("=")))}`
    })
  return pairs.sort().join("&")
}

/** Percent-encodes everything except letters, digits and `-._~`, which is stricter than JavaScript's own encoding. */
export function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

function signingKey({ keys, region, service }: AwsScope, day: string): Buffer {
  const ofDay = hmac(`AWS4${keys.secretAccessKey.reveal()}`, day)
  return hmac(hmac(hmac(ofDay, region), service), "aws4_request")
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest()
}

function sha256(body: string | Uint8Array): string {
  return createHash("sha256").update(body).digest("hex")
}
