// The content of a message, or the output of a tool, as canonical parts: a string, or a list of typed parts.

import type { CacheMark, ContentPart, MediaPart, MediaSource } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { FieldReader, list, text } from "../../../openai/field-reader.ts"
import { audioType, sourceOf } from "../../../openai/openai-media.ts"
import { decodeAnnotations } from "../citations.ts"
import { ownExtra, PROTOCOL, type ResponsesWriting } from "../passthrough-fields.ts"

export interface DecodedItemContent {
  readonly parts: readonly ContentPart[]
  readonly written: ResponsesWriting
}

interface ContentLocation {
  /** The path of its parent member. */
  readonly at: string
  /** The type of texts at this position. */
  readonly word: "input_text" | "output_text"
}

/** Undefined if the value is not content of this protocol; then it passes through. */
export function decodeContent(content: Json, place: ContentLocation): DecodedItemContent | undefined {
  if (content === "") return { parts: [], written: { content: "empty" } }
  if (typeof content === "string") return { parts: [{ kind: "text", at: place.at, text: content }], written: {} }
  const parts = list(content)?.map((part, index) => decodePart(part, { ...place, at: `${place.at}[${index}]` }))
  return parts && { parts, written: { content: "list" } }
}

function decodePart(value: Json, { at, word }: ContentLocation): ContentPart {
  const foreign: ContentPart = { kind: "foreign", at, protocol: PROTOCOL, value }
  if (!isObject(value) || typeof value.type !== "string") return foreign
  const fields = new FieldReader(value)
  const type = fields.take("type", text) ?? ""
  const decoded = PARTS[type]?.(fields, value)
  if (!decoded) return foreign
  const mark = decodeMark(fields)
  const { written, ...part } = decoded
  const isOther = part.kind === "text" && type !== word
  const extra = ownExtra(fields.rest(), { ...written, ...(isOther && { word: type }) })
  return { ...part, at, ...(mark && { cacheMark: mark }), ...(extra && { extra }) }
}

type DecodedResponsesPart = ContentPart & { readonly written?: ResponsesWriting }

const PARTS: Readonly<
  Record<string, ((fields: FieldReader, value: JsonObject) => DecodedResponsesPart | undefined) | undefined>
> = {
  input_text: textPart,
  output_text: textPart,
  refusal(fields) {
    const value = fields.take("refusal", text)
    return value === undefined ? undefined : { kind: "refusal", text: value }
  },
  input_image(fields) {
    const url = fields.take("image_url", text)
    const id = url === undefined ? fields.take("file_id", text) : undefined
    const detail = fields.take("detail", text)
    const source = sourceIn(url, id)
    return source && { kind: "media", media: "image", source, ...(detail !== undefined && { detail }) }
  },
  input_file: decodeFile,
  input_audio: (fields) =>
    fields.within("input_audio", (audio) => {
      const data = audio.take("data", text)
      const format = audio.take("format", text)
      if (data === undefined || format === undefined) return undefined
      return { kind: "media", media: "audio", source: { at: "inline", mediaType: audioType(format), base64: data } }
    }),
  /** Open Responses' own. */
  input_video(fields) {
    const url = fields.take("video_url", text)
    return url === undefined ? undefined : { kind: "media", media: "video", source: sourceOf(url) }
  },
}

function textPart(fields: FieldReader): DecodedResponsesPart | undefined {
  const value = fields.take("text", text)
  const annotations = fields.take("annotations", list)
  const logprobs = fields.take("logprobs", list)
  if (value === undefined) return undefined
  const citations = decodeAnnotations(annotations)
  const plain = { ...(annotations && { annotations }), ...(logprobs && { logprobs }) }
  return {
    kind: "text",
    text: value,
    ...(citations.length > 0 && { citations }),
    ...(Object.keys(plain).length > 0 && { written: { plain } }),
  }
}

function sourceIn(url: string | undefined, id: string | undefined): MediaSource | undefined {
  if (url !== undefined) return sourceOf(url)
  return id === undefined ? undefined : { at: "stored", id, mintedBy: PROTOCOL }
}

function decodeFile(fields: FieldReader): DecodedResponsesPart | undefined {
  const filename = fields.take("filename", text)
  const detail = fields.take("detail", text)
  const more = { ...(filename !== undefined && { name: filename }), ...(detail !== undefined && { detail }) }
  const document = (source: MediaSource): MediaPart => ({ kind: "media", media: "document", source, ...more })
  const data = fields.take("file_data", text)
  if (data === undefined) {
    const url = fields.take("file_url", text)
    const source = url === undefined ? sourceIn(undefined, fields.take("file_id", text)) : ({ at: "url", url } as const)
    return source && document(source)
  }
  const source = sourceOf(data)
  if (source.at === "inline") return document(source)
  // Bare base64 without a media type is nearly always a PDF.
  const bare: MediaSource = { at: "inline", mediaType: "application/pdf", base64: data }
  return { ...document(bare), written: { word: "bare" } }
}

function decodeMark(fields: FieldReader): CacheMark | undefined {
  return fields.take("prompt_cache_breakpoint", (mark) =>
    isObject(mark) && mark.mode === "explicit" && Object.keys(mark).length === 1 ? {} : undefined,
  )
}
