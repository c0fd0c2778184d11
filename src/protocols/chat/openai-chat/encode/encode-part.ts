// Encodes parts as the content of a message: a string if it is only text, a list otherwise.

import type { ContentPart, MediaPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { addressOf, audioFormat } from "../../../openai/openai-media.ts"
import { type ChatWriting, PROTOCOL, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import { type ChatEncodeContext, unsupportedSetting, writeMark } from "./encode-context.ts"

interface ContentForm {
  readonly content: ChatWriting["content"]
  /** The separator that joins several texts into one; a list if absent. */
  readonly between?: string
}

export function encodeContent(
  parts: readonly ContentPart[],
  encodeContext: ChatEncodeContext,
  { content, between }: ContentForm,
): Json {
  const encoded = parts.flatMap((part) => encodePart(part, encodeContext) ?? [])
  if (content === "list") return encoded
  const texts = encoded.flatMap((part) => plainText(part) ?? [])
  if (texts.length < encoded.length) return encoded
  // Many hosts accept a list only with images.
  return texts.length > 1 && between === undefined ? encoded : texts.join(between ?? "")
}

/** The text of a part without other members. */
function plainText(part: Json): string | undefined {
  if (!isObject(part) || part.type !== "text" || Object.keys(part).length !== 2) return undefined
  return typeof part.text === "string" ? part.text : undefined
}

/** Undefined for a part that content cannot contain, which is reported as lost. */
export function encodePart(part: ContentPart, encodeContext: ChatEncodeContext): Json | undefined {
  const { losses } = encodeContext.context
  const at = part.at ?? ""
  if (part.kind === "foreign") {
    if (part.protocol === PROTOCOL) return part.value
    losses.push(dropped.meaning(at, `only ${part.protocol} has this kind of block`))
    return undefined
  }
  const written = writingOf(part.extra)
  if (written.as !== undefined) return written.as
  const draft = encodeKind(part, encodeContext)
  if (!draft) return undefined
  writeMark(draft, part, { word: written.word, encodeContext })
  return restorePassthrough(draft, withoutMessage(part.extra, written), { at, losses })
}

/** An instruction's part may carry members of its message, which are not the part's. */
function withoutMessage(extra: ContentPart["extra"], { opens }: ChatWriting): ContentPart["extra"] {
  if (!extra || !opens?.members) return extra
  const names = opens.members
  const members = Object.fromEntries(Object.entries(extra.members).filter(([name]) => !names.includes(name)))
  return { protocol: PROTOCOL, members }
}

function encodeKind(
  part: Exclude<ContentPart, { kind: "foreign" }>,
  encodeContext: ChatEncodeContext,
): JsonDraft | undefined {
  const { losses } = encodeContext.context
  const at = part.at ?? ""
  if (part.kind === "text") {
    if (part.citations?.length) {
      losses.push(dropped.hint(memberPath(at, "citations"), "chat completions does not accept citations in a request"))
    }
    return { type: "text", text: part.text }
  }
  if (part.kind === "refusal") return { type: "refusal", refusal: part.text }
  if (part.kind === "media") return encodeMedia(part, encodeContext)
  const weight = part.kind === "reasoning" ? "hint" : "meaning"
  losses.push(dropped[weight](at, `chat completions does not allow a ${part.kind} here`))
  return undefined
}

function encodeMedia(part: MediaPart, encodeContext: ChatEncodeContext): JsonDraft {
  const { losses } = encodeContext.context
  const at = part.at ?? ""
  if (part.name !== undefined && part.media !== "document") {
    losses.push(dropped.hint(memberPath(at, "name"), `in chat completions only files have names`))
  }
  if (part.detail !== undefined && part.media !== "image") {
    losses.push(dropped.hint(memberPath(at, "detail"), `in chat completions only images have a detail`))
  }
  if (part.media === "audio") return encodeAudio(part, encodeContext)
  if (part.media === "document") return encodeFile(part, encodeContext)
  const url = addressOf(part.source)
  if (url === undefined) throw storedElsewhere(at)
  if (part.media === "image") {
    return { type: "image_url", image_url: { url, ...(part.detail !== undefined && { detail: part.detail }) } }
  }
  if (!encodeContext.own)
    throw unsupportedSetting(
      at,
      "is a video, which this model's provider does not accept. Send single frames as images.",
    )
  return { type: "video_url", video_url: { url } }
}

function storedElsewhere(at: string): Error {
  return unsupportedSetting(at, "references a file that this model's provider does not have. Send its content instead.")
}

function encodeAudio({ at = "", source }: MediaPart, { own }: ChatEncodeContext): JsonDraft {
  if (source.at === "stored" || source.at === "text") throw storedElsewhere(at)
  const format = audioFormat(source.mediaType ?? "")
  if (source.at === "url") {
    if (!own)
      throw unsupportedSetting(
        at,
        "is an audio URL, which this model's provider does not accept. Send the audio itself, as wav or mp3.",
      )
    return { type: "input_audio", input_audio: { data: source.url, format } }
  }
  if (!own && format !== "wav" && format !== "mp3") {
    throw unsupportedSetting(at, `is audio of type ${source.mediaType}; this model's provider accepts wav and mp3.`)
  }
  return { type: "input_audio", input_audio: { data: source.base64, format } }
}

function encodeFile(part: MediaPart, encodeContext: ChatEncodeContext): JsonDraft {
  const { at = "", source, name } = part
  const { own, context } = encodeContext
  if (source.at === "stored") {
    if (source.mintedBy !== PROTOCOL && source.mintedBy !== context.minter) throw storedElsewhere(at)
    return { type: "file", file: { ...(name !== undefined && { filename: name }), file_id: source.id } }
  }
  if (!own) {
    if (source.at === "url")
      throw unsupportedSetting(
        at,
        "is a file URL, which this model's provider does not accept. Send the file itself, in base64.",
      )
    const spelledOut = textOf(source)
    if (spelledOut !== undefined) {
      context.losses.push(approximated.hint(at, "a text file is sent as text"))
      return { type: "text", text: name === undefined ? spelledOut : `${name}\n\n${spelledOut}` }
    }
  }
  const isBare = writingOf(part.extra).word === "bare" && source.at === "inline"
  const filename = name ?? (own ? undefined : "document.pdf")
  const data = isBare ? source.base64 : (addressOf(source) ?? "")
  return { type: "file", file: { ...(filename !== undefined && { filename }), file_data: data } }
}

/** Every model understands text; only some understand files. */
export function textOf(source: MediaPart["source"]): string | undefined {
  if (source.at === "text") return source.text
  if (source.at !== "inline" || !source.mediaType.startsWith("text/")) return undefined
  return Buffer.from(source.base64, "base64").toString("utf8")
}
