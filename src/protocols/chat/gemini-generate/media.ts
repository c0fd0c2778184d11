// Pictures, sound, films and documents: `inlineData` and `fileData`, both ways.

import type { MediaPart, MediaSource } from "../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import { type GeminiFieldReader, isNative, PROTOCOL, text } from "./passthrough-fields.ts"

/** What a media part says, without where it stood. */
type MediaContent = Pick<MediaPart, "kind" | "media" | "source">

/** Undefined where the part holds neither. */
export function decodeMedia(part: GeminiFieldReader): MediaContent | undefined {
  return part.within("inlineData", inlineMedia) ?? part.within("fileData", fileMedia)
}

function inlineMedia(blob: GeminiFieldReader): MediaContent | undefined {
  const mediaType = blob.take("mimeType", text)
  const base64 = blob.take("data", text)
  if (mediaType === undefined || base64 === undefined) return undefined
  return { kind: "media", media: kindOf(mediaType), source: { at: "inline", mediaType, base64: standard(base64) } }
}

/** The vendor takes both alphabets of base64, padded or not; others take one. */
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

function kindAt(url: string): MediaPart["media"] {
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

function typeAt(url: string): string | undefined {
  const [, extension = ""] = /\.([a-z0-9]+)(?:[?#]|$)/i.exec(url) ?? []
  return TYPES[extension.toLowerCase()]
}

const USUAL: Readonly<Record<MediaPart["media"], string>> = {
  image: "image/jpeg",
  audio: "audio/mpeg",
  video: "video/mp4",
  document: "application/pdf",
}

interface EncodedMedia {
  readonly part: JsonObject
  /** Whether the kind of file had to be guessed, which the vendor must be told. */
  readonly guessed?: boolean
}

interface StoredFileReader {
  /** Whose files it may read. */
  mayRead(mintedBy: string): boolean
}

/** Undefined for a file of another vendor's. */
export function encodeMedia(part: MediaPart, { mayRead }: StoredFileReader): EncodedMedia | undefined {
  const { source } = part
  if (source.at === "inline") return inline(source.mediaType, source.base64)
  if (source.at === "text") return inline(source.mediaType, Buffer.from(source.text, "utf8").toString("base64"))
  if (source.at === "url") return atUrl(source, part)
  return mayRead(source.mintedBy) ? { part: { fileData: { fileUri: source.id } } } : undefined
}

function inline(mimeType: string, data: string): EncodedMedia {
  return { part: { inlineData: { mimeType, data } } }
}

function atUrl({ url, mediaType }: Extract<MediaSource, { at: "url" }>, { media, at }: MediaPart): EncodedMedia {
  const known = mediaType ?? (isNative(at) ? undefined : typeAt(url))
  if (known !== undefined) return { part: { fileData: { fileUri: url, mimeType: known } } }
  // Films on the vendor's own platform need no type, and have no file of one.
  if (isNative(at) || kindAt(url) === "video") return { part: { fileData: { fileUri: url } } }
  return { part: { fileData: { fileUri: url, mimeType: USUAL[media] } }, guessed: true }
}
