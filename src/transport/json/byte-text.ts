// Byte text: a string whose characters are bytes (Latin-1), so that text operations work at native speed on any bytes,
// valid UTF-8 or not, and offsets in the text are offsets in the bytes. JSON's and SSE's own marks are ASCII and never
// occur inside a multi-byte character, so scanning and splicing byte text is exact.
import { Buffer, isAscii as bytesAreAscii, isUtf8 } from "node:buffer"

/** Bytes as byte text; lossless. */
export function toByteText(bytes: Uint8Array): string {
  // To make a Buffer of the bytes first would cost as much again.
  return latin1Slice.call(bytes, 0, bytes.byteLength)
}

const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, from: number, to: number): string
}

/** Byte text as its bytes; lossless. */
export function fromByteText(text: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(text, "latin1")
}

/** Byte text as a body to send. In ASCII it is the same as ordinary text, which costs less to send than bytes. */
export function toBody(text: string, ascii: boolean): string | Uint8Array<ArrayBuffer> {
  return ascii ? text : fromByteText(text)
}

/** Ordinary text as byte text. */
export function encodeByteText(text: string): string {
  return isAsciiText(text) ? text : Buffer.from(text, "utf8").toString("latin1")
}

/** Byte text as ordinary text; malformed UTF-8 becomes U+FFFD. */
export function decodeByteText(text: string): string {
  return isAsciiText(text) ? text : Buffer.from(text, "latin1").toString("utf8")
}

/** Bytes as ordinary text; malformed UTF-8 becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("utf8")
}

export function isAscii(bytes: Uint8Array): boolean {
  return bytesAreAscii(bytes)
}

export function isValidUtf8(bytes: Uint8Array): boolean {
  return isUtf8(bytes)
}

export function isAsciiText(text: string): boolean {
  return !/[^\0-\x7f]/.test(text)
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
