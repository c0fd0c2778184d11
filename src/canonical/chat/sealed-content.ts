// Signatures and encrypted reasoning: opaque to the gateway, usable only by the provider that made them.

export interface SealedContent {
  /** The provider that made it, and the only one to which it is sent. */
  readonly mintedBy: string
  readonly data: string
}

/**
 * The first bytes of every envelope. Twelve bytes are sixteen base64 characters, and none of these differs between
 * base64 alphabets or is escaped by JSON libraries.
 */
const HEADER = "trv-seal:v2;"
const HEADER_BASE64 = Buffer.from(HEADER).toString("base64")
/** The prefix of envelopes from earlier releases; clients still hold some. */
const EARLIER_MARK = "trv-seal-1."
/** Between the minter and the data. */
const BORDER = "\0"

/** True if a text, such as a request body, may contain one of the gateway's envelopes. No vendor's opaque text does. */
export function mayHoldSeal(text: string): boolean {
  return text.includes(HEADER_BASE64) || text.includes(EARLIER_MARK)
}

/**
 * Encloses a seal for a client of another protocol, in that protocol's opaque member: standard base64 with padding,
 * which several vendors' libraries decode. Clients send it back whole, so the gateway keeps no state.
 */
export function encloseSeal({ mintedBy, data }: SealedContent): string {
  return Buffer.from(HEADER + mintedBy + BORDER + data, "utf8").toString("base64")
}

/** The seal in one of the gateway's envelopes; undefined for any other text. */
export function openSeal(text: string): SealedContent | undefined {
  if (text.startsWith(EARLIER_MARK)) return openEarlier(text)
  if (!text.startsWith(HEADER_BASE64)) return undefined
  const inside = Buffer.from(text, "base64").toString("utf8")
  const border = inside.indexOf(BORDER)
  if (border < 0) return undefined
  const sealed = { mintedBy: inside.slice(HEADER.length, border), data: inside.slice(border + 1) }
  return standardBase64(text) === encloseSeal(sealed) ? sealed : undefined
}

/** Libraries that decode an envelope may encode it again in base64's other alphabet, or without padding. */
function standardBase64(text: string): string {
  const bare = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  return bare.padEnd(Math.ceil(bare.length / 4) * 4, "=")
}

function openEarlier(text: string): SealedContent | undefined {
  const [mintedBy, data, ...more] = text.slice(EARLIER_MARK.length).split(".").map(decodeWord)
  return mintedBy !== undefined && data !== undefined && more.length === 0 ? { mintedBy, data } : undefined
}

/** Undefined if it is not the base64 of a text in the form that the gateway writes. */
function decodeWord(word: string): string | undefined {
  const text = Buffer.from(word, "base64url").toString("utf8")
  return Buffer.from(text, "utf8").toString("base64url") === word ? text : undefined
}
