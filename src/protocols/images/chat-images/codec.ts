// Images from chat models: the prompt is sent as the only user turn by a chat codec, and the images are taken from the
// response.

import type { ChatRequest } from "../../../canonical/chat/chat-request.ts"
import type { ChatResponse } from "../../../canonical/chat/chat-response.ts"
import type { ContentPart, MediaPart } from "../../../canonical/chat/content-part.ts"
import type { DrawnImage, ImageFates, ImageSize } from "../../../canonical/image.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import type { UpstreamCodec } from "../../chat-codec.ts"
import type { ImageRequestContext, ImageUpstream } from "../../image-codec.ts"
import { reportImageExtra } from "../image-list.ts"
import { type ImageShape, type SupportedShapes, shapeOf } from "../image-shape.ts"

/** The request for images in a chat protocol. */
interface ChatImageDialect {
  /** The vendor's name, for losses. */
  readonly vendor: string
  /** Adds to a request that it is to be answered with an image of this shape. */
  requestImages(body: JsonObject, shape: ImageShape | undefined, context: ImageRequestContext): JsonObject
}

const RATIOS = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]

/** Only its later generations draw in more than one. */
function shapesOf(model: string): SupportedShapes {
  const draws = /gemini-([3-9]|\d\d)/.test(model) && !model.includes("lite")
  return { ratios: RATIOS, resolutions: draws ? ["1K", "2K", "4K"] : ["1K"] }
}

/** Google's generateContent. */
export function geminiImages(codec: UpstreamCodec): ImageUpstream {
  return imagesOf(codec, {
    vendor: "Gemini",
    requestImages(body, shape) {
      const imageConfig = shape && {
        aspectRatio: shape.ratio,
        ...(shape.resolution !== "1K" && { imageSize: shape.resolution }),
      }
      const config = { responseModalities: ["TEXT", "IMAGE"], ...(imageConfig && { imageConfig }) }
      return { ...body, generationConfig: { ...(body.generationConfig as JsonObject | undefined), ...config } }
    },
  })
}

/** Chat completions, as OpenRouter and hosts like it have images in them. */
export function completionImages(codec: UpstreamCodec): ImageUpstream {
  return imagesOf(codec, {
    vendor: "This host",
    requestImages(body, shape, { returnsText }) {
      const image_config = shape && {
        aspect_ratio: shape.ratio,
        ...(shape.resolution !== "1K" && { image_size: shape.resolution }),
      }
      return { ...body, modalities: returnsText ? ["image", "text"] : ["image"], ...(image_config && { image_config }) }
    },
  })
}

function imagesOf(codec: UpstreamCodec, { vendor, requestImages: asking }: ChatImageDialect): ImageUpstream {
  return {
    fates: fatesOf(codec, vendor),
    mostAtOnce: () => 1,
    takesForm: () => false,
    operationFor: (model) => codec.operationFor(model, false),
    encodeRequest({ prompt, settings: { size, endUser }, extra }, context) {
      const { losses, model } = context
      reportImageExtra(extra, { losses, to: vendor })
      const body = codec.encodeRequest(drawingRequest(prompt, endUser), { ...CONTEXT, model, losses })
      return asking(body, shapeIn(size, context), context)
    },
    decodeResponse(body) {
      const response = codec.decodeResponse(body, { id: "", minter: "" })
      return response && { ...imagesInResponse(response), ...(response.usage && { usage: response.usage }) }
    },
    decodeError: (error) => codec.decodeError(error),
  }
}

function fatesOf({ fates }: UpstreamCodec, vendor: string): ImageFates {
  const chooses = { fate: "dropped", note: `${vendor} chooses the format` } as const
  return {
    size: { fate: "approximated", note: "a shape and a resolution" },
    quality: { fate: "dropped", note: `${vendor} has no such setting` },
    format: chooses,
    compression: chooses,
    background: { fate: "refused", note: `${vendor} does not support transparent backgrounds` },
    // The chat codec reports its loss.
    endUser: { fate: "mapped", note: fates.endUser.note },
  }
}

/** Chat settings that do not matter for a single turn of image generation. */
const CONTEXT = { stream: false, streamUsage: "sent", minter: "", maxOutputTokens: 32_768, reasons: false } as const

function drawingRequest(prompt: string, endUser: string | undefined): ChatRequest {
  return {
    model: "",
    instructions: [],
    turns: [{ role: "user", parts: [{ kind: "text", text: prompt }] }],
    tools: [],
    settings: endUser === undefined ? {} : { endUser },
    stream: false,
    routing: { fallback: [] },
  }
}

function shapeIn(size: ImageSize | undefined, { model, losses }: ImageRequestContext): ImageShape | undefined {
  return size && shapeOf(size, shapesOf(model), losses)
}

/** The response to a blocked prompt has no candidates. */
function imagesInResponse({ candidates }: ChatResponse): { images: DrawnImage[]; isFiltered?: boolean } {
  const images = candidates.flatMap(({ parts }) => parts.filter(isImage).flatMap(toDrawnImage))
  const isFiltered =
    candidates.length === 0 ||
    candidates.some(({ finish }) => finish?.reason === "filtered" || finish?.reason === "refusal")
  return { images, ...(isFiltered && { isFiltered }) }
}

function isImage(part: ContentPart): part is MediaPart {
  // Images in reasoning are not part of the response.
  return part.kind === "media" && part.media === "image" && part.extra?.members.thought !== true
}

function toDrawnImage({ source }: MediaPart): DrawnImage[] {
  return source.at === "inline" || source.at === "url" ? [{ source }] : []
}
