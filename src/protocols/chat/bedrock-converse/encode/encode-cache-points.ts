// Cache borders, which are blocks of their own here, for the models that keep prompts.

import type { CacheMark } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped } from "../../../losses.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"
import type { PlacedBlock } from "./encode-part.ts"

/** The cache point; undefined if the model has no cache. */
export function cachePoint(
  { ttl }: CacheMark,
  { at, encodeContext }: { at: string; encodeContext: BedrockEncodeContext },
) {
  const { family, losses } = encodeContext
  if (!family.caches) {
    losses.push(dropped.hint(`${at}.cache_control`, "the model does not cache prompts"))
    return undefined
  }
  const hour = ttl === "1h" && family.caches.hour
  if (ttl === "1h" && !hour) {
    losses.push(approximated.hint(`${at}.cache_control.ttl`, "the model caches prompts for five minutes"))
  }
  return { cachePoint: { type: "default", ...(hour && { ttl: "1h" }) } }
}

/**
 * Inserts cache points into the blocks. None may follow media, so it moves before them: the next cache point includes
 * them, and no block is added that the next turn would not have.
 */
export function withCachePoints(placed: readonly PlacedBlock[], encodeContext: BedrockEncodeContext): JsonObject[] {
  const blocks: JsonObject[] = []
  for (const { block, mark } of placed) {
    blocks.push(block)
    const point = mark && cachePoint(mark, { at: mark.at, encodeContext })
    if (!point) continue
    let place = blocks.length
    while (place > 0 && isMedia(blocks[place - 1])) place--
    if (place < blocks.length) {
      const why = "a cache mark cannot follow media"
      encodeContext.losses.push((place === 0 ? dropped : approximated).hint(`${mark.at}.cache_control`, why))
    }
    if (place > 0 && blocks[place - 1]?.cachePoint === undefined) blocks.splice(place, 0, point)
  }
  return blocks
}

function isMedia(block: JsonObject | undefined): boolean {
  return block !== undefined && ["image", "document", "video", "audio"].some((name) => name in block)
}
