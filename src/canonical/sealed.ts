// Signatures and encrypted reasoning: opaque to us, and of use only to whoever made them.

export interface Sealed {
  /** Who made it; it is only ever sent back there. */
  readonly mintedBy: string
  readonly data: string
}

/** What no vendor's own opaque text begins with. */
export const SEAL_MARK = "trv-seal-1."

/**
 * A seal as it crosses a client of another protocol, in that protocol's own opaque slot: letters, digits, `-`, `_`, `.`.
 * Whoever sends it back sends all of it, so no state is kept here.
 */
export function encloseSeal({ mintedBy, data }: Sealed): string {
  return SEAL_MARK + [mintedBy, data].map(encoded).join(".")
}

/** The seal in an envelope of ours; undefined for any other text. */
export function openSeal(text: string): Sealed | undefined {
  if (!text.startsWith(SEAL_MARK)) return undefined
  const [mintedBy, data, ...more] = text.slice(SEAL_MARK.length).split(".").map(decoded)
  return mintedBy !== undefined && data !== undefined && more.length === 0 ? { mintedBy, data } : undefined
}

function encoded(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url")
}

/** Undefined for what `encoded` did not write. */
function decoded(word: string): string | undefined {
  const text = Buffer.from(word, "base64url").toString("utf8")
  return encoded(text) === word ? text : undefined
}
