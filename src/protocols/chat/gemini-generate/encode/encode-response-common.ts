// What whole answers and streams write alike: parts for clients, why an answer ended, and what it cannot say.

import { encloseSeal } from "../../../../canonical/chat/sealed-content.ts"
import type { Loss } from "../../../../canonical/loss.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { PartEncoder } from "./encode-part.ts"

/** Seals cross the client in an envelope, so that each comes back to whoever made it. */
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

/** Whether there was something to report. */
export function reportUsage({ cacheWrite, cacheWrite1h }: Usage, losses: Loss[]): boolean {
  if (!cacheWrite && !cacheWrite1h) return false
  const why = "Gemini includes cache writes in the prompt tokens."
  losses.push({ path: "usage.cacheWrite", weight: "hint", how: "approximated", why })
  return true
}
