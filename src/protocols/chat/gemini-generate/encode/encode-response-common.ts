// Shared by whole and streamed responses: the part encoder, and losses of usage.

import { encloseSeal } from "../../../../canonical/chat/sealed-content.ts"
import type { Loss } from "../../../../canonical/loss.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { PartEncoder } from "./encode-part.ts"

/** Seals cross the client in an envelope, so that each returns to its minter. */
export function answerParts({ losses }: ClientResponseContext): PartEncoder {
  return new PartEncoder({
    losses,
    isOurs: (mintedBy) => mintedBy === PROTOCOL,
    enclose: encloseSeal,
    mediaInResults: true,
    hostedResults: true,
    foreignRuns: "hint",
  })
}

/** True if there was a loss to report. */
export function reportUsage({ cacheWrite, cacheWrite1h }: Usage, losses: Loss[]): boolean {
  if (!cacheWrite && !cacheWrite1h) return false
  const why = "Gemini includes cache writes in the prompt tokens."
  losses.push({ path: "usage.cacheWrite", weight: "hint", how: "approximated", why })
  return true
}
