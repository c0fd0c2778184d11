// Reads a request's body: JSON by its media type, plain, and never more of it than the route takes.
import { GatewayError } from "../canonical/error.ts"

const JSON_TYPE = /^application\/([\w.!#$&^-]+\+)?json\s*(;|$)/i

export async function readBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  checkHeaders(request.headers)
  const length = request.headers.get("content-length")
  if (length !== null && Number(length) > limit) throw tooLarge(limit)
  if (length !== null) return new Uint8Array(await request.arrayBuffer())
  return readUnannounced(request, limit)
}

function checkHeaders(headers: Headers): void {
  const type = headers.get("content-type") ?? ""
  if (!JSON_TYPE.test(type)) {
    throw new GatewayError("invalid_content_type", "The body must be JSON: send `Content-Type: application/json`.")
  }
  const encoding = headers.get("content-encoding") ?? "identity"
  if (encoding.toLowerCase() !== "identity") {
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
