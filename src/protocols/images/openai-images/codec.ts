// OpenAI's images in the image lane: for other upstreams, or for the same one with other members or in several calls.
import { GatewayError } from "../../../canonical/gateway-error.ts"
import {
  addressOf,
  type DrawnImage,
  type ImageFates,
  type ImageFormat,
  type ImageRequest,
  type ImageSettings,
  type ImageSize,
} from "../../../canonical/image.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { claimFields } from "../../../canonical/passthrough-fields.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import type { ImageIngress, ImageResponseContext, ImageUpstream } from "../../image-codec.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { readImageList } from "../image-list.ts"
import { formOf } from "./read-request.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

const PROTOCOL = "openai-images"

export const ingress: ImageIngress = {
  decodeRequest,
  settingPaths: {
    count: "n",
    form: "response_format",
    size: "size",
    quality: "quality",
    format: "output_format",
    compression: "output_compression",
    background: "background",
    endUser: "user",
  },
  encodeResponse({ images, usage, extra }, context) {
    return {
      created: context.unixTime,
      ...(extra?.protocol === PROTOCOL && extra.members),
      data: images.map((image) => encodeImage(image, context)),
      ...encodeImageUsage(usage),
    }
  },
}

function encodeImage({ source, revisedPrompt }: DrawnImage, { form }: ImageResponseContext): JsonObject {
  const promptMember = revisedPrompt === undefined ? {} : { revised_prompt: revisedPrompt }
  const inBytes = source.at === "inline" && form !== "url"
  return inBytes ? { b64_json: source.base64, ...promptMember } : { url: addressOf(source), ...promptMember }
}

function encodeImageUsage(usage: Usage | undefined): JsonObject {
  return usage ? { usage: encodeUsage(usage) } : {}
}

function decodeRequest(body: JsonObject): ImageRequest {
  const claimed = claimFields(body)
  for (const name of ["model", "provider", "stream"]) claimed.take(name)
  const form = formOf(claimed.take("response_format"))
  const settings = {
    size: sizeOf(claimed.take("size")),
    quality: wordOf(claimed.take("quality")),
    format: formatOf(claimed.take("output_format")),
    compression: claimed.take("output_compression") as number | undefined,
    background: backgroundOf(claimed.take("background")),
    endUser: claimed.take("user") as string | undefined,
  }
  const prompt = claimed.take("prompt") as string
  const count = (claimed.take("n") as number | undefined) ?? 1
  const extra = claimed.rest(PROTOCOL)
  return { prompt, count, ...(form && { form }), settings: definedSettings(settings), ...(extra && { extra }) }
}

type OptionalMembers<Of> = { readonly [Name in keyof Of]?: Of[Name] | undefined }

function definedSettings(settings: OptionalMembers<ImageSettings>): ImageSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

/** `auto` is the default. */
function wordOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "auto" ? value : undefined
}

function sizeOf(value: Json | undefined): ImageSize | undefined {
  const word = wordOf(value)
  if (word === undefined) return undefined
  const [, width, height] = (/^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(word) ?? []).map(Number)
  if (width === undefined || height === undefined)
    throw unknownWord("size", "a width and a height in pixels, as in `1024x1024`")
  return { width, height }
}

const FORMATS: Readonly<Record<string, ImageFormat>> = { png: "png", jpeg: "jpeg", jpg: "jpeg", webp: "webp" }

function formatOf(value: Json | undefined): ImageFormat | undefined {
  const word = wordOf(value)
  if (word === undefined) return undefined
  const format = Object.hasOwn(FORMATS, word) ? FORMATS[word] : undefined
  if (!format) throw unknownWord("output_format", "`png`, `jpeg` or `webp`")
  return format
}

function backgroundOf(value: Json | undefined): ImageSettings["background"] {
  const word = wordOf(value)
  if (word === undefined || word === "transparent" || word === "opaque") return word
  throw unknownWord("background", "`transparent`, `opaque` or `auto`")
}

function unknownWord(param: string, known: string): GatewayError {
  const message = `\`${param}\` must be ${known} for this model's provider.`
  return new GatewayError("invalid_parameter", message, { param })
}

const fates: ImageFates = {
  size: { fate: "mapped", note: "`size`" },
  quality: { fate: "mapped", note: "`quality`" },
  format: { fate: "mapped", note: "`output_format`" },
  compression: { fate: "mapped", note: "`output_compression`" },
  background: { fate: "mapped", note: "`background`" },
  endUser: { fate: "mapped", note: "`user`" },
}

/** Members of a response that apply to all its images. */
const RESPONSE_MEMBERS = ["background", "output_format", "quality", "size"]
const MOST = 10

export const upstream: ImageUpstream = {
  fates,
  mostAtOnce: (model) => (model.includes("dall-e-3") ? 1 : MOST),
  // These models refuse the member and return bytes.
  takesForm: (model) => !/gpt-image|chatgpt-image/.test(model),
  operationFor: () => ({ operation: "images", path: "/images/generations", headers: NO_HEADERS }),
  encodeRequest({ prompt, count, form, settings, extra }, { model }) {
    const { size, quality, format, compression, background, endUser } = settings
    return {
      model,
      prompt,
      n: count,
      ...(size && { size: `${size.width}x${size.height}` }),
      ...(quality !== undefined && { quality }),
      ...(format && { output_format: format }),
      ...(compression !== undefined && { output_compression: compression }),
      ...(background && { background }),
      ...(form && this.takesForm(model) && { response_format: form === "url" ? "url" : "b64_json" }),
      ...(endUser !== undefined && { user: endUser }),
      ...extra?.members,
    }
  },
  decodeResponse(body) {
    const images = readImageList(body)
    if (!images) return undefined
    const usage = decodeUsage(body.usage)
    const members = Object.fromEntries(
      RESPONSE_MEMBERS.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
    )
    return { images, ...(usage && { usage }), extra: { protocol: PROTOCOL, members: members as JsonObject } }
  },
  decodeError,
}
