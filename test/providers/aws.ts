// Amazon's side of Bedrock: verifies signatures with an implementation of its own, and frames events.
import { encodeEventMessage } from "../../src/transport/streams/aws-event-stream.fixture.ts"
import type { ReceivedRequest, UpstreamReply } from "../stage/upstream.ts"

export interface AwsCredential {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** The fault of a request's signature; undefined if it is valid. */
export function signatureFault(request: ReceivedRequest, credential: AwsCredential): string | undefined {
  const { headers, method, path, body } = request
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, id, day = "", region = "", service = "", names = "", signature] =
    pattern.exec(headers.authorization ?? "") ?? []
  if (id !== credential.accessKeyId) return `the access key is ${id}`
  if (service !== "bedrock") return `the service is ${service}`
  const time = headers["x-amz-date"] ?? ""
  if (!time.startsWith(day) || Math.abs(Date.now() - readTime(time)) > 60_000) return `the time is ${time}`
  for (const needed of ["host", "x-amz-date", ...("x-amz-security-token" in headers ? ["x-amz-security-token"] : [])]) {
    if (!names.split(";").includes(needed)) return `${needed} is not signed`
  }
  const [rawPath = "", query = ""] = path.split("?")
  const lines = names.split(";").map((name) => `${name}:${headers[name]}\n`)
  const twice = rawPath.replace(/[^A-Za-z0-9\-._~/]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  const canonical = `${method}\n${twice}\n${query}\n${lines.join("")}\n${names}\n${hex(body)}`
  const scope = `${day}/${region}/${service}/aws4_request`
  const key = [day, region, service, "aws4_request"].reduce<Uint8Array>(
    (made, word) => keyed(made, word),
    Buffer.from(`AWS4${credential.secretAccessKey}`),
  )
  const expected = Buffer.from(keyed(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hex(canonical)}`)).toString("hex")
  return signature === expected ? undefined : "the signature does not match"
}

function readTime(time: string): number {
  return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
}

function hex(bytes: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex")
}

function keyed(key: Uint8Array, text: string): Uint8Array {
  return new Bun.CryptoHasher("sha256", key).update(text).digest()
}

const EVENT = { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" }

/** One event of Anthropic's as Bedrock frames it, padded as it pads. */
export function framedEvent(event: string): Buffer {
  return encodeEventMessage(EVENT, JSON.stringify({ bytes: Buffer.from(event).toString("base64"), p: "abcdefgh" }))
}

/** One event of Converse's, framed and padded as Bedrock does. */
export function converseEvent(type: string, event: object): Buffer {
  return encodeEventMessage({ ...EVENT, ":event-type": type }, JSON.stringify({ ...event, p: "abcdefgh" }))
}

export function framedException(type: string, message: string): Buffer {
  const headers = { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" }
  return encodeEventMessage(headers, JSON.stringify({ message }))
}

/** The data of each of these server-sent events. */
export function dataOf(events: readonly string[]): string[] {
  return events
    .join("")
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length))
}

export const FRAMED = { "content-type": "application/vnd.amazon.eventstream" }

/** Streams these events of Anthropic's, framed. */
export async function streamFramed(reply: UpstreamReply, events: readonly string[]): Promise<void> {
  reply.stream(FRAMED)
  for (const data of dataOf(events)) await reply.write(framedEvent(data))
}

/** An error in Bedrock's form. */
export function refuse(
  reply: UpstreamReply,
  status: number,
  { type, message }: { type: string; message: string },
): void {
  reply.json({ message }, status, { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/` })
}
