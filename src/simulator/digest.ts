// Deterministic pseudo-random values: identifiers, seals, and numbers for vectors and images.
import { createHash } from "node:crypto"

/** A SHA-256 digest of at most 64 hexadecimal digits. */
export function digest(input: string, length = 64): string {
  return createHash("sha256").update(input).digest("hex").slice(0, length)
}

/** Opaque text, such as a signature or encrypted reasoning. */
export function opaqueText(input: string): string {
  return createHash("sha512").update(input).digest("base64")
}

/** A generator of unsigned 32-bit integers (mulberry32). */
export function randomNumbers(seed: string): () => number {
  let state = Number.parseInt(digest(seed, 8), 16)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}
