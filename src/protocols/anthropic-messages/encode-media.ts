// Pictures and documents of a request, in the few forms the vendor takes. What it does not take is refused: an answer to
// half a question is worse than none.
import { Buffer } from "node:buffer"
import { GatewayError } from "../../canonical/error.ts"
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { MediaPart, MediaSource } from "../../canonical/part.ts"
import { approximated, dropped, member } from "../losses.ts"
import { isOwn, PROTOCOL } from "./own.ts"
import type { Writing } from "./writing.ts"

const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"])
const PDF = "application/pdf"
const PLAIN = "text/plain"

/** The block without its cache mark and what rode along. */
export function mediaBlock(part: MediaPart, writing: Writing): JsonObject {
  const { media, name, at } = part
  if (part.detail !== undefined && part.detail !== "auto") {
    writing.losses.push(dropped.hint(member(at, "detail"), "the messages protocol has no detail of a picture"))
  }
  if (media !== "image" && media !== "document") throw refused(part, `${media} cannot be sent to this model's provider`)
  const rest = isOwn(part.extra) && isObject(part.extra.members.source) ? part.extra.members.source : {}
  const source = { ...encodeSource(part, writing), ...rest }
  if (media === "image") {
    if (name !== undefined) writing.losses.push(dropped.hint(member(at, "name"), "a picture has no name here"))
    return { type: "image", source }
  }
  return { type: "document", source, ...(name !== undefined && name !== "" && { title: name }) }
}

function encodeSource(part: MediaPart, writing: Writing): JsonObject {
  const { source } = part
  if (source.at === "url") return urlSource(part, source.url, writing)
  if (source.at === "stored") return storedSource(part, source, writing)
  if (source.at === "text") return textSource(part, source, writing)
  if (writing.own) return { type: "base64", media_type: source.mediaType, data: source.base64 }
  return inlineSource(part, source, writing)
}

function urlSource(part: MediaPart, url: string, { own }: Writing): JsonObject {
  if (!own && !/^https?:/i.test(url)) throw refused(part, "this model's provider fetches only https addresses")
  return { type: "url", url }
}

function storedSource(
  part: MediaPart,
  { id, mintedBy }: { id: string; mintedBy: string },
  writing: Writing,
): JsonObject {
  if (mintedBy !== PROTOCOL && mintedBy !== writing.minter)
    throw refused(part, "the file is stored at another provider")
  return { type: "file", file_id: id }
}

function textSource(part: MediaPart, source: Extract<MediaSource, { at: "text" }>, writing: Writing): JsonObject {
  if (!writing.own && source.mediaType !== PLAIN) {
    const why = `text is sent as ${PLAIN}`
    writing.losses.push(approximated.hint(member(part.at, "mediaType"), why))
  }
  const mediaType = writing.own ? source.mediaType : PLAIN
  return { type: "text", media_type: mediaType, data: source.text }
}

function inlineSource(part: MediaPart, source: Extract<MediaSource, { at: "inline" }>, writing: Writing): JsonObject {
  const mediaType = bareType(source.mediaType)
  if (part.media === "image") {
    if (!IMAGES.has(mediaType)) throw refused(part, `pictures may be ${[...IMAGES].join(", ")}, not ${mediaType}`)
    return { type: "base64", media_type: mediaType, data: plainBase64(source.base64) }
  }
  if (mediaType === PDF) return { type: "base64", media_type: PDF, data: plainBase64(source.base64) }
  if (!mediaType.startsWith("text/") && mediaType !== "application/json") {
    throw refused(part, `documents may be PDF or text, not ${mediaType}`)
  }
  const text = Buffer.from(source.base64, "base64").toString("utf8")
  return textSource(part, { at: "text", mediaType, text }, writing)
}

/** `image/jpg` is what many write. */
function bareType(mediaType: string): string {
  const [type = ""] = mediaType.toLowerCase().split(";")
  return type.trim() === "image/jpg" ? "image/jpeg" : type.trim()
}

/** The vendor takes the standard alphabet, padded, on one line. */
function plainBase64(base64: string): string {
  if (!/[-_\s]/.test(base64) && base64.length % 4 === 0) return base64
  return Buffer.from(base64, "base64").toString("base64")
}

function refused({ at }: MediaPart, why: string): GatewayError {
  const param = at ?? "messages"
  return new GatewayError("unsupported_parameter", `\`${param}\` cannot be sent: ${why}.`, { param })
}
