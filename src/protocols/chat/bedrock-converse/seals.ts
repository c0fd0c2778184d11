// Seals of reasoning: a text's `signature`, or `redactedContent`, which is base64 of what its maker wrote.
import { Buffer } from "node:buffer"
import type { SealedContent } from "../../../canonical/chat/sealed-content.ts"

/** Before what was redacted. No signature holds a colon. */
const REDACTED = "redacted:"
/** Before what was redacted and is no text. */
const BYTES = "redacted-bytes:"

/**
 * Claude's are the same as on its own interface once the base64 is off, so that a conversation may go on with either
 * of the two that Bedrock has.
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
