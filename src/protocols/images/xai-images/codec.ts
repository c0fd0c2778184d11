// xAI's images: OpenAI's interface, with a shape and a resolution in the place of a size, which it refuses.
import type { Losses } from "../../../canonical/loss.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import type { ImageUpstream } from "../../image-codec.ts"
import { dropped } from "../../losses.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { readImageList } from "../image-list.ts"
import { type SupportedShapes, shapeOf } from "../image-shape.ts"

const SHAPES: SupportedShapes = {
  ratios: ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "2:1", "1:2", "19.5:9", "9:19.5", "20:9", "9:20"],
  resolutions: ["1K", "2K"],
}

/** OpenAI's older models had two other values. */
const QUALITIES: Readonly<Record<string, string>> = { low: "low", medium: "medium", high: "high", hd: "high" }

function qualityOf(word: string | undefined, losses: Losses): string | undefined {
  if (word === undefined || word === "standard") return undefined
  const known = Object.hasOwn(QUALITIES, word) ? QUALITIES[word] : undefined
  if (known === undefined) losses.push(dropped.meaning("quality", "xAI supports low, medium and high"))
  return known
}

export const xaiImagesUpstream: ImageUpstream = {
  fates: {
    size: { fate: "approximated", note: "`aspect_ratio` and `resolution`" },
    quality: { fate: "mapped", note: "`quality`" },
    format: { fate: "dropped", note: "xAI chooses the format" },
    compression: { fate: "dropped", note: "xAI chooses the format" },
    background: { fate: "refused", note: "xAI does not support transparent backgrounds" },
    endUser: { fate: "mapped", note: "`user`" },
  },
  mostAtOnce: () => 10,
  takesForm: () => true,
  operationFor: () => ({ operation: "images", path: "/images/generations", headers: NO_HEADERS }),
  encodeRequest({ prompt, count, form, settings: { size, quality, endUser }, extra }, { model, losses }) {
    const shape = size && shapeOf(size, SHAPES, losses)
    const word = qualityOf(quality, losses)
    return {
      model,
      prompt,
      n: count,
      ...(shape && { aspect_ratio: shape.ratio }),
      ...(shape && shape.resolution !== "1K" && { resolution: shape.resolution.toLowerCase() }),
      ...(word !== undefined && { quality: word }),
      ...(form && { response_format: form === "url" ? "url" : "b64_json" }),
      ...(endUser !== undefined && { user: endUser }),
      // Members that are not OpenAI's are mostly this host's own.
      ...extra?.members,
    }
  },
  decodeResponse(body) {
    const images = readImageList(body)
    return images && { images }
  },
  decodeError,
}
