// Seals of reasoning: a text's `signature`, or `redactedContent`, which is base64 of the model's data.
import { Buffer } from "node:buffer"
import type { SealedContent } from "../../../canonical/chat/sealed-content.ts"

/** Prefix of redacted text. No signature contains a colon. */
const REDACTED = "redacted:"
/** Prefix of redacted data that is not text. */
const BYTES = "redacted-bytes:"

/**
 * Without the base64, Claude's seals are the same as in its own protocol, so that a conversation may continue in either
 * protocol of Bedrock.
 */
export function redactedSeal(base64: string, minter: string): SealedContent {
  const text = Buffer.from(base64, "base64").toString("utf8")
  const isText = Buffer.from(text, "utf8").toString("base64") === base64
  return { mintedBy: minter, data: isText ? REDACTED + text : BYTES + base64 }
}

/** The value of `redactedContent`; undefined for a signature. */
export function redactedContent({ data }: SealedContent): string | undefined {
  if (data.startsWith(BYTES)) return data.slice(BYTES.length)
  return data.startsWith(REDACTED) ? Buffer.from(data.slice(REDACTED.length), "utf8").toString("base64") : undefined
}
