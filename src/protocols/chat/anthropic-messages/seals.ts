// Positions of seals in this protocol: a thinking block's `signature`, a redacted block's `data`. A tool call has no
// such member, so its seal crosses a client in a redacted block before it.
import { encloseSeal, openSeal, type SealedContent } from "../../../canonical/chat/sealed-content.ts"
import { PROTOCOL } from "./passthrough-fields.ts"

/** Prefix of a redacted block's data, so that it returns as a redacted block. No signature contains a colon. */
const REDACTED = "redacted:"
/** The "minter" of an envelope that contains the seal of a call and the call's id. */
const OF_CALL = "anthropic-messages:call"

interface SealSlot {
  readonly text: string
  readonly redacted: boolean
  /** The seal's minter; absent in a request, which may contain the gateway's envelopes. */
  readonly minter?: string | undefined
}

export function sealIn({ text, redacted, minter }: SealSlot): SealedContent {
  const opened = minter === undefined ? openSeal(text) : undefined
  return opened ?? { mintedBy: minter ?? PROTOCOL, data: redacted ? REDACTED + text : text }
}

/** The data of a redacted block; undefined for a signature. */
export function redactedData({ data }: SealedContent): string | undefined {
  return data.startsWith(REDACTED) ? data.slice(REDACTED.length) : undefined
}

/** A seal as clients of this protocol store it. */
export function slotText(sealed: SealedContent): string {
  if (sealed.mintedBy !== PROTOCOL) return encloseSeal(sealed)
  return redactedData(sealed) ?? sealed.data
}

export function encloseCallSeal(callId: string, sealed: SealedContent): string {
  return encloseSeal({ mintedBy: OF_CALL, data: JSON.stringify([callId, sealed.mintedBy, sealed.data]) })
}

/** The call a seal belongs to, and the seal; undefined for any other seal. */
export function openCallSeal({ mintedBy, data }: SealedContent): { callId: string; sealed: SealedContent } | undefined {
  if (mintedBy !== OF_CALL) return undefined
  const [callId, minter, sealed] = parseCallSeal(data)
  if (typeof callId !== "string" || typeof minter !== "string" || typeof sealed !== "string") return undefined
  return { callId, sealed: { mintedBy: minter, data: sealed } }
}

function parseCallSeal(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
