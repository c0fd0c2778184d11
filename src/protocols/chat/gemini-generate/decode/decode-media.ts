// Decodes images, audio, videos and documents: `inlineData` and `fileData`.

import type { MediaPart } from "../../../../canonical/chat/content-part.ts"
import { type GeminiFieldReader, PROTOCOL, text } from "../passthrough-fields.ts"

/** A media part without its path. */
type MediaContent = Pick<MediaPart, "kind" | "media" | "source">

/** Undefined if the part has neither. */
export function decodeMedia(part: GeminiFieldReader): MediaContent | undefined {
  return part.within("inlineData", inlineMedia) ?? part.within("fileData", fileMedia)
}

function inlineMedia(blob: GeminiFieldReader): MediaContent | undefined {
  const mediaType = blob.take("mimeType", text)
  const base64 = blob.take("data", text)
  if (mediaType === undefined || base64 === undefined) return undefined
  return { kind: "media", media: kindOf(mediaType), source: { at: "inline", mediaType, base64: standard(base64) } }
}

/** The vendor accepts both base64 alphabets, padded or not; others accept one. */
function standard(base64: string): string {
  const letters = /[-_]/.test(base64) ? base64.replaceAll("-", "+").replaceAll("_", "/") : base64
  const short = letters.length % 4
  return short < 2 ? letters : letters + "=".repeat(4 - short)
}

function fileMedia(file: GeminiFieldReader): MediaContent | undefined {
  const url = file.take("fileUri", text)
  if (url === undefined) return undefined
  if (!isPublic(url)) return { kind: "media", media: "document", source: { at: "stored", id: url, mintedBy: PROTOCOL } }
  const mediaType = file.take("mimeType", text)
  const media = mediaType === undefined ? kindAt(url) : kindOf(mediaType)
  return { kind: "media", media, source: { at: "url", url, ...(mediaType !== undefined && { mediaType }) } }
}

/** The vendor's own files, and buckets, are objects of an account. */
function isPublic(url: string): boolean {
  return /^https?:/.test(url) && !/^https?:\/\/[^/]*generativelanguage\.googleapis\.com/.test(url)
}

function kindOf(mediaType: string): MediaPart["media"] {
  const [kind] = mediaType.split("/", 1)
  return kind === "image" || kind === "audio" || kind === "video" ? kind : "document"
}

export function kindAt(url: string): MediaPart["media"] {
  if (/^https?:\/\/(?:[a-z]+\.)?(?:youtube\.com|youtu\.be)\//.test(url)) return "video"
  const mediaType = typeAt(url)
  return mediaType === undefined ? "document" : kindOf(mediaType)
}

const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  pdf: "application/pdf",
  txt: "text/plain",
  html: "text/html",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  ogg: "audio/ogg",
  flac: "audio/flac",
  mp4: "video/mp4",
  webm: "video/webm",
  mov: "video/quicktime",
}

export function typeAt(url: string): string | undefined {
  const [, extension = ""] = /\.([a-z0-9]+)(?:[?#]|$)/i.exec(url) ?? []
  return TYPES[extension.toLowerCase()]
}
