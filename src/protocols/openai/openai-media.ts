// Images, audio and files in OpenAI's protocols: URLs, `data:` URLs, and base64 with a separate format.
import type { MediaSource } from "../../canonical/chat/content-part.ts"

/** Includes the media type's parameters, if any. */
const DATA_URL = /^data:([^,;][^,]*);base64,/

/** A URL, or the content of a `data:` URL. */
export function sourceOf(url: string): MediaSource {
  const mediaType = DATA_URL.exec(url.slice(0, 200))?.[1]
  if (mediaType === undefined) return { at: "url", url }
  return { at: "inline", mediaType, base64: url.slice(url.indexOf(",") + 1) }
}

/** Undefined for files that only their provider can read. */
export function addressOf(source: MediaSource): string | undefined {
  if (source.at === "url") return source.url
  if (source.at === "inline") return `data:${source.mediaType};base64,${source.base64}`
  if (source.at === "text") return `data:${source.mediaType};base64,${Buffer.from(source.text).toString("base64")}`
  return undefined
}

const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: "audio/mpeg", pcm16: "audio/L16;rate=24000" }
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "audio/L16;rate=24000": "pcm16",
}

export function audioType(format: string): string {
  return AUDIO_TYPES[format] ?? `audio/${format}`
}

export function audioFormat(mediaType: string): string {
  return AUDIO_FORMATS[mediaType] ?? mediaType.replace(/^audio\//, "")
}
