// Reads an answer whole, within a bound that holds however the answer is framed.
import type { UpstreamBodyReader, UpstreamResponse } from "./http-response.ts"
import { TransportError } from "./transport-error.ts"

/** So many pieces are joined: a host that sends byte by byte shall not cost a hundred bytes for each. */
const MAX_PIECES = 1024

/** All of an answer's bytes; rejects once there are more than `maxBytes`. */
export async function readAll(answer: UpstreamResponse, maxBytes: number): Promise<Uint8Array> {
  if (answer.length !== undefined && answer.length > maxBytes) {
    void answer.body?.cancel().catch(() => {})
    throw new TransportError("too-large")
  }
  const reader = answer.body?.getReader()
  if (!reader) return new Uint8Array(0)
  const first = await reader.read()
  if (first.done) return new Uint8Array(0)
  if (first.value.byteLength === answer.length) return first.value
  return gather(first.value, reader, maxBytes)
}

async function gather(first: Uint8Array, reader: UpstreamBodyReader, maxBytes: number): Promise<Uint8Array> {
  const joined: Uint8Array[] = []
  let pieces: Uint8Array[] = []
  let length = 0
  for (let value: Uint8Array | undefined = first; value; value = (await reader.read()).value) {
    length += value.byteLength
    if (length > maxBytes) {
      void reader.cancel().catch(() => {})
      throw new TransportError("too-large")
    }
    pieces.push(value)
    if (pieces.length < MAX_PIECES) continue
    joined.push(Buffer.concat(pieces))
    pieces = []
  }
  return joined.length === 0 && pieces.length === 1 ? first : Buffer.concat([...joined, ...pieces], length)
}
