// AWS's event stream: binary messages of headers and a payload, each with two checksums. Cuts bytes in pieces of any
// size into messages; a broken one cannot be skipped, for nothing says where the next begins.
import { crc32 } from "node:zlib"

export interface EventMessage {
  /** Those whose value is text; streams of events have no others. */
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Uint8Array
}

export class EventStreamError extends Error {
  override readonly name = "EventStreamError"
}

interface EventStreamDecoder {
  /** The messages that these bytes complete; up to the first broken one, after which there are no more. */
  push(bytes: Uint8Array): EventMessage[]
  /** What is wrong with the bytes so far. */
  readonly fault: EventStreamError | undefined
  /** Throws what is wrong with the bytes, also that they ended within a message. */
  finish(): void
}

/** Two lengths and their checksum. */
const PRELUDE_LENGTH = 12
const CHECKSUM_LENGTH = 4
/** As large as an event of any other stream may be. */
const MAX_MESSAGE_LENGTH = 16 * 1024 * 1024

export function decodeEventStream(maxMessageLength = MAX_MESSAGE_LENGTH): EventStreamDecoder {
  // Pieces are joined only when a message is complete, so that a large one in many pieces is not copied for each.
  let pieces: Uint8Array[] = []
  let length = 0
  let needed = PRELUDE_LENGTH
  let fault: EventStreamError | undefined

  const cut = (bytes: Uint8Array): EventMessage[] => {
    const messages: EventMessage[] = []
    let rest = bytes
    try {
      for (;;) {
        needed = rest.byteLength < PRELUDE_LENGTH ? PRELUDE_LENGTH : messageLength(rest, maxMessageLength)
        if (rest.byteLength < needed) break
        messages.push(readMessage(rest.subarray(0, needed)))
        rest = rest.subarray(needed)
      }
    } catch (thrown) {
      if (!(thrown instanceof EventStreamError)) throw thrown
      fault = thrown
    }
    pieces = rest.byteLength === 0 ? [] : [rest]
    length = rest.byteLength
    return messages
  }

  return {
    get fault() {
      return fault
    },
    push(bytes) {
      if (fault) return []
      pieces.push(bytes)
      length += bytes.byteLength
      if (length < needed) return []
      return cut(pieces.length === 1 ? bytes : Buffer.concat(pieces, length))
    },
    finish() {
      if (fault) throw fault
      if (length > 0) throw new EventStreamError("the stream ended within a message")
    },
  }
}

function messageLength(bytes: Uint8Array, maxMessageLength: number): number {
  const view = viewOf(bytes)
  // The lengths are checked before they are believed: a wrong one would be waited for.
  if (view.getUint32(8) !== crc32(bytes.subarray(0, 8))) throw new EventStreamError("a prelude's checksum is wrong")
  const length = view.getUint32(0)
  if (length > maxMessageLength) throw new EventStreamError(`a message exceeds ${maxMessageLength} bytes`)
  if (length < PRELUDE_LENGTH + view.getUint32(4) + CHECKSUM_LENGTH) throw new EventStreamError("a length is wrong")
  return length
}

function readMessage(bytes: Uint8Array): EventMessage {
  const view = viewOf(bytes)
  const end = bytes.byteLength - CHECKSUM_LENGTH
  if (view.getUint32(end) !== crc32(bytes.subarray(0, end))) throw new EventStreamError("a message's checksum is wrong")
  const headersEnd = PRELUDE_LENGTH + view.getUint32(4)
  return { headers: readHeaders(bytes, headersEnd), payload: bytes.subarray(headersEnd, end) }
}

/** The lengths of values by their type; 6 (bytes) and 7 (text) say their own. */
const VALUE_LENGTHS: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
const TEXT = 7

function readHeaders(bytes: Uint8Array, end: number): Record<string, string> {
  const view = viewOf(bytes)
  const headers: Record<string, string> = {}
  let at = PRELUDE_LENGTH
  while (at < end) {
    const nameEnd = at + 1 + view.getUint8(at)
    const type = nameEnd < end ? view.getUint8(nameEnd) : -1
    const sized = type === TEXT || type === 6
    const valueStart = nameEnd + (sized ? 3 : 1)
    const valueLength = sized && valueStart <= end ? view.getUint16(nameEnd + 1) : VALUE_LENGTHS[type]
    if (valueLength === undefined || valueStart + valueLength > end) throw new EventStreamError("a header is malformed")
    if (type === TEXT) headers[textOf(bytes, at + 1, nameEnd)] = textOf(bytes, valueStart, valueStart + valueLength)
    at = valueStart + valueLength
  }
  return headers
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8")
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
