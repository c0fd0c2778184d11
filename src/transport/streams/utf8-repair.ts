// Keeps a byte stream valid UTF-8: malformed bytes become U+FFFD, valid bytes stay as they are. A character that is cut
// by the end of a chunk waits for the next one.
import { Buffer, isUtf8 } from "node:buffer"

const MAX_CARRIED_BYTES = 3

export class Utf8Repair {
  /** The first bytes of a character whose rest has not arrived. */
  private carried: Uint8Array | undefined

  /** The bytes to pass on; empty where only a part of one character arrived. */
  push(bytes: Uint8Array): Uint8Array {
    if (!this.carried && isUtf8(bytes)) return bytes
    const whole = this.carried ? Buffer.concat([this.carried, bytes]) : bytes
    const end = completeLength(whole)
    // A copy: the caller may reuse its buffer.
    this.carried = end < whole.length ? whole.slice(end) : undefined
    return repairUtf8(end < whole.length ? whole.subarray(0, end) : whole)
  }

  /** What is left when no more bytes come. */
  finish(): Uint8Array | undefined {
    const left = this.carried && repairUtf8(this.carried)
    this.carried = undefined
    return left
  }
}

/** The same bytes where they are valid UTF-8; else with U+FFFD in place of what is not. */
export function repairUtf8(bytes: Uint8Array): Uint8Array {
  if (isUtf8(bytes)) return bytes
  return Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"), "utf8")
}

/** The length without the unfinished character at the end, where there is one. */
function completeLength(bytes: Uint8Array): number {
  const { length } = bytes
  for (let back = 1; back <= Math.min(MAX_CARRIED_BYTES, length); back++) {
    const byte = bytes[length - back] as number
    if (byte < 0x80) return length
    if (byte >= 0xc0) return characterLength(byte) > back ? length - back : length
  }
  return length
}

/** How many bytes a character has that begins with this one. */
function characterLength(lead: number): number {
  if (lead >= 0xf5) return 1
  if (lead >= 0xf0) return 4
  return lead >= 0xe0 ? 3 : 2
}
