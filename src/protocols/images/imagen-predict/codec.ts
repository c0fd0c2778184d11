// Google's predict interface for Imagen, at AI Studio and at Vertex alike.

import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { DrawnImage, ImageFates, ImageRequest, ImageResponse } from "../../../canonical/image.ts"
import { inlineImage } from "../../../canonical/image.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import type { ImageUpstream } from "../../image-codec.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { reportImageExtra } from "../image-list.ts"
import { type SupportedShapes, shapeOf } from "../image-shape.ts"

const fates: ImageFates = {
  size: { fate: "approximated", note: "`parameters.aspectRatio` and `sampleImageSize`" },
  quality: { fate: "dropped", note: "Imagen has no such setting" },
  format: { fate: "mapped", note: "`parameters.outputOptions.mimeType`; no webp" },
  compression: { fate: "mapped", note: "`parameters.outputOptions.compressionQuality`" },
  background: { fate: "refused", note: "Imagen does not support transparent backgrounds" },
  endUser: { fate: "dropped", note: "there is no such member" },
}

const RATIOS = ["1:1", "3:4", "4:3", "9:16", "16:9"]

/** The fast ones draw in one resolution. */
function shapesOf(model: string): SupportedShapes {
  return { ratios: RATIOS, resolutions: model.includes("fast") ? ["1K"] : ["1K", "2K"] }
}

export const imagenPredictUpstream: ImageUpstream = {
  fates,
  mostAtOnce: () => 4,
  takesForm: () => false,
  operationFor: (model) => ({
    operation: "predict",
    path: `/v1beta/models/${encodeURIComponent(model)}:predict`,
    headers: NO_HEADERS,
  }),
  encodeRequest(request, { model, losses }) {
    reportImageExtra(request.extra, { losses, to: "Imagen" })
    const outputOptions = outputOf(request)
    const parameters = {
      sampleCount: request.count,
      ...sizeOf(request, { model, losses }),
      ...(Object.keys(outputOptions).length > 0 && { outputOptions }),
    }
    return { instances: [{ prompt: request.prompt }], parameters }
  },
  decodeResponse,
  decodeError,
}

function sizeOf(
  { settings: { size } }: ImageRequest,
  { model, losses }: { model: string; losses: Losses },
): JsonObject {
  if (!size) return {}
  const { ratio, resolution } = shapeOf(size, shapesOf(model), losses)
  return { aspectRatio: ratio, ...(resolution !== "1K" && { sampleImageSize: resolution }) }
}

function outputOf({ settings: { format, compression } }: ImageRequest): JsonObject {
  if (format === "webp") {
    const message = "`format` is webp, which Imagen does not support. Ask for png or jpeg."
    throw new GatewayError("unsupported_parameter", message, { param: "format" })
  }
  return {
    ...(format && { mimeType: `image/${format}` }),
    ...(compression !== undefined && { compressionQuality: compression }),
  }
}

/** If all images were filtered, there may be no predictions. */
function decodeResponse({ predictions = [], error }: JsonObject): ImageResponse | undefined {
  if (!Array.isArray(predictions) || (error !== undefined && error !== null)) return undefined
  const images = (predictions as readonly Json[]).flatMap(imagesIn)
  const isFiltered = images.length < predictions.length || predictions.length === 0
  return { images, ...(isFiltered && { isFiltered }) }
}

function imagesIn(prediction: Json): DrawnImage[] {
  if (!isObject(prediction)) return []
  const { bytesBase64Encoded: base64, mimeType, prompt } = prediction
  if (typeof base64 !== "string" || base64 === "") return []
  const source = inlineImage(base64, typeof mimeType === "string" ? mimeType : undefined)
  return [{ source, ...(typeof prompt === "string" && prompt !== "" && { revisedPrompt: prompt }) }]
}
