// Encodes images and documents of a request, in the few forms that the vendor accepts. Others are refused, because
// answering only part of a question is worse than refusing it.
import { Buffer } from "node:buffer"
import type { MediaPart, MediaSource } from "../../../../canonical/chat/content-part.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import { isOwn, PROTOCOL } from "../passthrough-fields.ts"
import type { AnthropicEncodeContext } from "./encode-context.ts"

const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"])
const PDF = "application/pdf"
const PLAIN = "text/plain"

/** The block without its cache mark and passthrough fields. */
export function encodeMedia(part: MediaPart, encodeContext: AnthropicEncodeContext): JsonObject {
  const { media, name, at } = part
  if (part.detail !== undefined && part.detail !== "auto") {
    encodeContext.losses.push(dropped.hint(memberPath(at, "detail"), "the messages protocol has no image detail"))
  }
  if (media !== "image" && media !== "document")
    throw refuseMedia(part, `this model's provider does not accept ${media}`)
  const rest = isOwn(part.extra) && isObject(part.extra.members.source) ? part.extra.members.source : {}
  const source = { ...encodeSource(part, encodeContext), ...rest }
  if (media === "image") {
    if (name !== undefined)
      encodeContext.losses.push(dropped.hint(memberPath(at, "name"), "images have no name in the messages protocol"))
    return { type: "image", source }
  }
  return { type: "document", source, ...(name !== undefined && name !== "" && { title: name }) }
}

function encodeSource(part: MediaPart, encodeContext: AnthropicEncodeContext): JsonObject {
  const { source } = part
  if (source.at === "url") return urlSource(part, source.url, encodeContext)
  if (source.at === "stored") return storedSource(part, source, encodeContext)
  if (source.at === "text") return textSource(part, source, encodeContext)
  if (encodeContext.own) return { type: "base64", media_type: source.mediaType, data: source.base64 }
  return inlineSource(part, source, encodeContext)
}

function urlSource(part: MediaPart, url: string, { own }: AnthropicEncodeContext): JsonObject {
  if (!own && !/^https?:/i.test(url)) throw refuseMedia(part, "this model's provider fetches only https addresses")
  return { type: "url", url }
}

function storedSource(
  part: MediaPart,
  { id, mintedBy }: { id: string; mintedBy: string },
  encodeContext: AnthropicEncodeContext,
): JsonObject {
  if (mintedBy !== PROTOCOL && mintedBy !== encodeContext.minter)
    throw refuseMedia(part, "the file is stored at another provider")
  return { type: "file", file_id: id }
}

function textSource(
  part: MediaPart,
  source: Extract<MediaSource, { at: "text" }>,
  encodeContext: AnthropicEncodeContext,
): JsonObject {
  if (!encodeContext.own && source.mediaType !== PLAIN) {
    const why = `text is sent as ${PLAIN}`
    encodeContext.losses.push(approximated.hint(memberPath(part.at, "mediaType"), why))
  }
  const mediaType = encodeContext.own ? source.mediaType : PLAIN
  return { type: "text", media_type: mediaType, data: source.text }
}

function inlineSource(
  part: MediaPart,
  source: Extract<MediaSource, { at: "inline" }>,
  encodeContext: AnthropicEncodeContext,
): JsonObject {
  const mediaType = bareType(source.mediaType)
  if (part.media === "image") {
    if (!IMAGES.has(mediaType)) throw refuseMedia(part, `images must be ${[...IMAGES].join(", ")}, not ${mediaType}`)
    return { type: "base64", media_type: mediaType, data: plainBase64(source.base64) }
  }
  if (mediaType === PDF) return { type: "base64", media_type: PDF, data: plainBase64(source.base64) }
  if (!mediaType.startsWith("text/") && mediaType !== "application/json") {
    throw refuseMedia(part, `documents must be PDF or text, not ${mediaType}`)
  }
  const text = Buffer.from(source.base64, "base64").toString("utf8")
  return textSource(part, { at: "text", mediaType, text }, encodeContext)
}

/** Many clients write `image/jpg`. */
function bareType(mediaType: string): string {
  const [type = ""] = mediaType.toLowerCase().split(";")
  return type.trim() === "image/jpg" ? "image/jpeg" : type.trim()
}

/** The vendor accepts padded standard base64 on one line. */
function plainBase64(base64: string): string {
  if (!/[-_\s]/.test(base64) && base64.length % 4 === 0) return base64
  return Buffer.from(base64, "base64").toString("base64")
}

function refuseMedia({ at }: MediaPart, why: string): GatewayError {
  const param = at ?? "messages"
  return new GatewayError("unsupported_parameter", `\`${param}\` cannot be sent: ${why}.`, { param })
}
