// The content of a message as canonical parts: a string, or a list of typed parts.

import type { CacheMark, ContentPart, MediaPart, MediaSource } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { FieldReader, list, object, text } from "../../../openai/field-reader.ts"
import { audioType, sourceOf } from "../../../openai/openai-media.ts"
import { type ChatWriting, ownExtra, PROTOCOL } from "../passthrough-fields.ts"

export interface DecodedContent {
  readonly parts: readonly ContentPart[]
  readonly written: ChatWriting
}

/** `at` is the message's path. Undefined if the value is not content of this protocol; then it passes through. */
export function decodeContent(content: Json, at: string): DecodedContent | undefined {
  if (content === "") return { parts: [], written: { content: "empty" } }
  if (typeof content === "string") {
    return { parts: [{ kind: "text", at: `${at}.content`, text: content }], written: {} }
  }
  const parts = list(content)?.map((part, index) => decodePart(part, `${at}.content[${index}]`))
  return parts && { parts, written: { content: "list" } }
}

function decodePart(value: Json, at: string): ContentPart {
  const foreign: ContentPart = { kind: "foreign", at, protocol: PROTOCOL, value }
  if (!isObject(value) || typeof value.type !== "string") return foreign
  const fields = new FieldReader(value)
  fields.take("type", text)
  const decoded = PARTS[value.type]?.(fields, value)
  if (!decoded) return foreign
  const { mark, word } = decodeMark(fields)
  const { written, ...part } = decoded
  const extra = ownExtra(fields.rest(), { ...written, ...(word && { word }) })
  return { ...part, at, ...(mark && { cacheMark: mark }), ...(extra && { extra }) }
}

type DecodedChatPart = ContentPart & { readonly written?: ChatWriting }

const PARTS: Readonly<
  Record<string, ((fields: FieldReader, value: JsonObject) => DecodedChatPart | undefined) | undefined>
> = {
  text(fields) {
    const value = fields.take("text", text)
    return value === undefined ? undefined : { kind: "text", text: value }
  },
  refusal(fields) {
    const value = fields.take("refusal", text)
    return value === undefined ? undefined : { kind: "refusal", text: value, written: { content: "list" } }
  },
  image_url: (fields) =>
    textImage(fields) ??
    fields.within("image_url", (image) => {
      const url = image.take("url", text)
      const detail = image.take("detail", text)
      return url === undefined ? undefined : media("image", sourceOf(url), { ...(detail !== undefined && { detail }) })
    }),
  /** Not OpenAI's own; several hosts accept it. */
  video_url: (fields) =>
    fields.within("video_url", (video) => {
      const url = video.take("url", text)
      return url === undefined ? undefined : media("video", sourceOf(url))
    }),
  input_audio: (fields) =>
    fields.within("input_audio", (audio) => {
      const data = audio.take("data", text)
      const format = audio.take("format", text)
      if (data === undefined || format === undefined) return undefined
      const mediaType = audioType(format)
      if (/^(https?|data):/.test(data)) return media("audio", { at: "url", url: data, mediaType })
      return media("audio", { at: "inline", mediaType, base64: data })
    }),
  file: (fields) => fields.within("file", decodeFile),
  /** Mistral's reasoning, which is a part of the content. */
  thinking(_, value) {
    const thought = thoughtIn(value)
    return thought === undefined
      ? undefined
      : { kind: "reasoning", form: "full", text: thought, written: { as: value } }
  },
}

/** Mistral's clients send the address itself. */
function textImage(fields: FieldReader): MediaPart | undefined {
  const url = fields.take("image_url", text)
  return url === undefined ? undefined : media("image", sourceOf(url))
}

function media(kind: MediaPart["media"], source: MediaSource, more: Partial<MediaPart> = {}): MediaPart {
  return { kind: "media", media: kind, source, ...more }
}

function decodeFile(file: FieldReader): DecodedChatPart | undefined {
  const filename = file.take("filename", text)
  const name = filename === undefined ? {} : { name: filename }
  const data = file.take("file_data", text)
  if (data === undefined) {
    const id = file.take("file_id", text)
    return id === undefined ? undefined : media("document", { at: "stored", id, mintedBy: PROTOCOL }, name)
  }
  if (/^(https?|data):/.test(data)) return media("document", sourceOf(data), name)
  // Bare base64 without a media type is nearly always a PDF.
  const source: MediaSource = { at: "inline", mediaType: "application/pdf", base64: data }
  return { ...media("document", source, name), written: { word: "bare" } }
}

/** The text of a `thinking` block; undefined for other blocks. */
export function thoughtIn({ type, thinking }: JsonObject): string | undefined {
  if (type !== "thinking") return undefined
  if (typeof thinking === "string") return thinking
  if (!Array.isArray(thinking)) return undefined
  return thinking.map((piece: Json) => (isObject(piece) && typeof piece.text === "string" ? piece.text : "")).join("")
}

const TTLS: Readonly<Record<string, CacheMark["ttl"]>> = { "5m": "5m", "1h": "1h" }

/** OpenAI's own mark, and the one that hosts of Claude accept. */
export function decodeMark(fields: FieldReader): { readonly mark?: CacheMark; readonly word?: string } {
  const own = fields.take("prompt_cache_breakpoint", (mark) =>
    isObject(mark) && mark.mode === "explicit" && Object.keys(mark).length === 1 ? {} : undefined,
  )
  if (own) return { mark: own, word: "prompt_cache_breakpoint" }
  const mark = fields.take("cache_control", (value): CacheMark | undefined => {
    const { type, ttl, ...more } = object(value) ?? {}
    if (type !== "ephemeral" || Object.keys(more).length > 0) return undefined
    if (ttl === undefined) return {}
    const known = typeof ttl === "string" ? TTLS[ttl] : undefined
    return known && { ttl: known }
  })
  return mark ? { mark, word: "cache_control" } : {}
}
