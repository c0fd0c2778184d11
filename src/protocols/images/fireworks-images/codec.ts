// Fireworks' workflow that draws a text: one image a call, in the model's own path.
import { type DrawnImage, imageAt, inlineImage } from "../../../canonical/image.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import type { ImageUpstream } from "../../image-codec.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { type SupportedShapes, shapeOf } from "../image-shape.ts"

const SHAPES: SupportedShapes = {
  ratios: ["1:1", "21:9", "16:9", "3:2", "5:4", "4:3", "9:21", "9:16", "2:3", "4:5", "3:4"],
  resolutions: ["1K"],
}

export const fireworksImagesUpstream: ImageUpstream = {
  fates: {
    size: { fate: "approximated", note: "`aspect_ratio`" },
    quality: { fate: "dropped", note: "Fireworks has no such setting" },
    format: { fate: "dropped", note: "Fireworks chooses the format" },
    compression: { fate: "dropped", note: "Fireworks chooses the format" },
    background: { fate: "refused", note: "Fireworks does not support transparent backgrounds" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  mostAtOnce: () => 1,
  takesForm: () => false,
  // A model's name is a path at this host.
  operationFor: (model) => ({
    operation: "images",
    path: `/workflows/${model.split("/").map(encodeURIComponent).join("/")}/text_to_image`,
    headers: NO_HEADERS,
  }),
  encodeRequest({ prompt, settings: { size }, extra }, { losses }) {
    // Members that are not OpenAI's are mostly this host's own.
    return { prompt, ...(size && { aspect_ratio: shapeOf(size, SHAPES, losses).ratio }), ...extra?.members }
  },
  decodeResponse({ base64, finishReason }: JsonObject) {
    const isFiltered = finishReason === "CONTENT_FILTERED"
    if (typeof base64 !== "string" && !Array.isArray(base64)) return isFiltered ? { images: [], isFiltered } : undefined
    const several: readonly Json[] = typeof base64 === "string" ? [base64] : base64
    // An image for a filtered prompt is black.
    return isFiltered ? { images: [], isFiltered } : { images: several.flatMap(imagesIn) }
  },
  decodeError,
}

function imagesIn(written: Json): DrawnImage[] {
  if (typeof written !== "string" || written === "") return []
  return [{ source: written.startsWith("data:") ? imageAt(written) : inlineImage(written) }]
}
