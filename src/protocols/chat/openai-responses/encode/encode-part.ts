// Encodes parts as the content of a message or the output of a tool: a string if it is only text, a list otherwise.

import type { ContentPart, MediaPart, TextPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { addressOf, audioFormat } from "../../../openai/openai-media.ts"
import { PROTOCOL, type ResponsesWriting, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import { type ResponsesEncodeContext, unsupportedSetting, writeMark } from "./encode-context.ts"

export interface ItemContentForm {
  readonly content?: ResponsesWriting["content"]
  /** The type of texts at this position. */
  readonly word: "input_text" | "output_text"
}

export function encodeContent(
  parts: readonly ContentPart[],
  encodeContext: ResponsesEncodeContext,
  { content, word }: ItemContentForm,
): Json {
  const encoded: Json[] = []
  for (const part of parts) {
    const wire = encodePart(part, encodeContext, word)
    if (wire !== undefined) encoded.push(wire)
  }
  if (content === "list") return encoded
  if (content === "empty" || encoded.length === 0) return ""
  const [only] = encoded
  const plain = encoded.length === 1 ? plainText(only) : undefined
  return plain ?? encoded
}

/** The text of a part without other members. */
function plainText(part: Json | undefined): string | undefined {
  if (!isObject(part) || typeof part.text !== "string") return undefined
  const { type: _, text, annotations = [], ...more } = part
  const isPlain = Object.keys(more).length === 0 && Array.isArray(annotations) && annotations.length === 0
  return isPlain ? text : undefined
}

/** Undefined for a part that content cannot contain, which is reported as lost. */
function encodePart(
  part: ContentPart,
  encodeContext: ResponsesEncodeContext,
  word: ItemContentForm["word"],
): Json | undefined {
  const { losses } = encodeContext.context
  const at = part.at ?? ""
  if (part.kind === "foreign") {
    if (part.protocol === PROTOCOL) return part.value
    losses.push(dropped.meaning(at, `only ${part.protocol} has this kind of block`))
    return undefined
  }
  const draft = encodeKind(part, encodeContext, word)
  if (!draft) return undefined
  writeMark(draft, part, encodeContext)
  return restorePassthrough(draft, withoutMessage(part.extra), { at, losses })
}

/** An instruction's part may carry members of its message, which are not the part's. */
function withoutMessage(extra: ContentPart["extra"]): ContentPart["extra"] {
  const names = writingOf(extra).opens?.members
  if (!extra || !names) return extra
  const members = Object.fromEntries(Object.entries(extra.members).filter(([name]) => !names.includes(name)))
  return { protocol: PROTOCOL, members }
}

function encodeKind(
  part: ContentPart,
  encodeContext: ResponsesEncodeContext,
  word: ItemContentForm["word"],
): JsonDraft | undefined {
  if (part.kind === "text") return encodeText(part, encodeContext, word)
  if (part.kind === "refusal") {
    return encodeContext.own || word === "output_text"
      ? { type: "refusal", refusal: part.text }
      : { type: word, text: part.text }
  }
  if (part.kind === "media") return encodeMedia(part, encodeContext)
  const weight = part.kind === "reasoning" ? "hint" : "meaning"
  encodeContext.context.losses.push(
    dropped[weight](part.at ?? "", `the responses interface does not allow a ${part.kind} in a message`),
  )
  return undefined
}

function encodeText(
  part: TextPart,
  { own, context }: ResponsesEncodeContext,
  word: ItemContentForm["word"],
): JsonDraft {
  const { word: other, plain } = writingOf(part.extra)
  if (own) return { type: other ?? word, text: part.text, ...plain }
  if (part.citations?.length) {
    context.losses.push(
      dropped.hint(memberPath(part.at, "citations"), "the responses interface does not accept citations in a request"),
    )
  }
  return { type: word, text: part.text, ...(word === "output_text" && { annotations: [] }) }
}

function encodeMedia(part: MediaPart, encodeContext: ResponsesEncodeContext): JsonDraft {
  const { losses } = encodeContext.context
  const { at = "", name, detail } = part
  if (name !== undefined && part.media !== "document")
    losses.push(dropped.hint(memberPath(at, "name"), "only files have names"))
  if (part.media === "document") return encodeFile(part, encodeContext)
  if (part.media === "image") return encodeImage(part, encodeContext)
  if (detail !== undefined) losses.push(dropped.hint(memberPath(at, "detail"), "only images have a detail"))
  if (part.media === "audio") return encodeAudio(part, encodeContext)
  const url = addressOf(part.source)
  if (encodeContext.own && url !== undefined) return { type: "input_video", video_url: url }
  throw unsupportedSetting(at, "is a video, which this model's provider does not accept. Send single frames as images.")
}

function storedElsewhere(at: string): Error {
  return unsupportedSetting(at, "references a file that this model's provider does not have. Send its content instead.")
}

function encodeImage({ at = "", source, detail }: MediaPart, { own, context }: ResponsesEncodeContext): JsonDraft {
  const shown = own ? detail !== undefined && { detail } : { detail: detail ?? "auto" }
  if (source.at === "stored") {
    if (source.mintedBy !== PROTOCOL && source.mintedBy !== context.minter) throw storedElsewhere(at)
    return { type: "input_image", file_id: source.id, ...shown }
  }
  return { type: "input_image", image_url: addressOf(source) ?? "", ...shown }
}

function encodeAudio({ at = "", source }: MediaPart, { own }: ResponsesEncodeContext): JsonDraft {
  if (!own)
    throw unsupportedSetting(at, "is audio, which this model's provider does not accept. Send a transcript as text.")
  if (source.at !== "inline")
    throw unsupportedSetting(
      at,
      "is an audio URL, which this model's provider does not accept. Send the audio itself, as wav or mp3.",
    )
  return { type: "input_audio", input_audio: { data: source.base64, format: audioFormat(source.mediaType) } }
}

function encodeFile(part: MediaPart, encodeContext: ResponsesEncodeContext): JsonDraft {
  const { at = "", source, name, detail } = part
  const { own, context } = encodeContext
  const shown: JsonObject = detail === undefined ? {} : { detail }
  const filename = name ?? (own ? undefined : "document.pdf")
  const named: JsonObject = filename === undefined ? {} : { filename }
  if (source.at === "stored") {
    if (source.mintedBy !== PROTOCOL && source.mintedBy !== context.minter) throw storedElsewhere(at)
    return { type: "input_file", ...named, file_id: source.id, ...shown }
  }
  if (source.at === "url") {
    const why = "a file URL has no separate name"
    if (!own && name !== undefined) context.losses.push(dropped.hint(memberPath(at, "name"), why))
    return { type: "input_file", ...(own && named), file_url: source.url, ...shown }
  }
  const spelledOut = own ? undefined : textOf(source)
  if (spelledOut !== undefined) {
    context.losses.push(approximated.hint(at, "a text file is sent as text"))
    return { type: "input_text", text: name === undefined ? spelledOut : `${name}\n\n${spelledOut}` }
  }
  const isBare = writingOf(part.extra).word === "bare" && source.at === "inline"
  const data = isBare ? source.base64 : (addressOf(source) ?? "")
  return { type: "input_file", ...named, file_data: data, ...shown }
}

/** Every model understands text; only some understand files. */
function textOf(source: MediaPart["source"]): string | undefined {
  if (source.at === "text") return source.text
  if (source.at !== "inline" || !source.mediaType.startsWith("text/")) return undefined
  return Buffer.from(source.base64, "base64").toString("utf8")
}
