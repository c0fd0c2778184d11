// Encodes images, audio, videos and documents as `inlineData` or `fileData`.

import type { MediaPart, MediaSource } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { kindAt, typeAt } from "../decode/decode-media.ts"
import { isNative } from "../passthrough-fields.ts"

const USUAL: Readonly<Record<MediaPart["media"], string>> = {
  image: "image/jpeg",
  audio: "audio/mpeg",
  video: "video/mp4",
  document: "application/pdf",
}

interface EncodedMedia {
  readonly part: JsonObject
  /** True if the media type was guessed, because the vendor requires one. */
  readonly guessed?: boolean
}

interface StoredFileReader {
  /** True if the upstream can read files of this minter. */
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
