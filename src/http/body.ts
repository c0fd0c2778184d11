// Reads a request's body: JSON by its media type, plain, and never more of it than the route takes.
import { GatewayError } from "../canonical/error.ts"

const JSON_TYPE = /^application\/([\w.!#$&^-]+\+)?json\s*(;|$)/i

export function readBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  checkHeaders(request.headers)
  const length = request.headers.get("content-length")
  if (length === null) return readUnannounced(request, limit)
  if (Number(length) > limit) throw tooLarge(limit)
  return request.bytes() as Promise<Uint8Array<ArrayBuffer>>
}

function checkHeaders(headers: Headers): void {
  const type = headers.get("content-type") ?? ""
  if (type !== "application/json" && !JSON_TYPE.test(type)) {
    throw new GatewayError("invalid_content_type", "The body must be JSON: send `Content-Type: application/json`.")
  }
  const encoding = headers.get("content-encoding")
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new GatewayError("invalid_content_type", "The body must not be compressed: send it without Content-Encoding.")
  }
}

async function readUnannounced(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength
    if (length > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError("body_too_large", `The body is larger than ${limit / 1024 / 1024} MiB.`)
}
