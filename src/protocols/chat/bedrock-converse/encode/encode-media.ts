// Encodes images, documents, video and audio of a request: inline, with a name for the format. Unsupported media is
// refused, because answering only part of a question is worse than refusing it.
import { Buffer } from "node:buffer"
import type { MediaPart } from "../../../../canonical/chat/content-part.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"

type MediaFormats = Readonly<Record<string, string>>

const FORMS: Readonly<Record<MediaPart["media"], MediaFormats>> = {
  image: {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
  },
  document: {
    "application/pdf": "pdf",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/html": "html",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  },
  video: {
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
  },
  audio: {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/flac": "flac",
    "audio/aac": "aac",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
  },
}

export function encodeMedia(part: MediaPart, encodeContext: BedrockEncodeContext): JsonObject {
  const { media, detail, at } = part
  if (detail !== undefined && detail !== "auto") {
    encodeContext.losses.push(dropped.hint(memberPath(at, "detail"), "the Converse protocol has no image detail"))
  }
  const { format, bytes } = content(part, encodeContext)
  const source = { bytes }
  if (media === "document") return { document: { format, name: documentName(part, encodeContext), source } }
  if (part.name !== undefined) {
    encodeContext.losses.push(
      dropped.hint(memberPath(at, "name"), "only documents have a name in the Converse protocol"),
    )
  }
  return { [media]: { format, source } }
}

function content(part: MediaPart, encodeContext: BedrockEncodeContext): { format: string; bytes: string } {
  const { source, media } = part
  if (source.at === "url") throw refuseMedia(part, "this model's provider does not fetch URLs; send the content inline")
  if (source.at === "stored") throw refuseMedia(part, "a file that is stored elsewhere cannot be sent; send it inline")
  const known = FORMS[media]
  const type = bareType(source.mediaType)
  const isText = media === "document" && (source.at === "text" || /^text\/|^application\/(?:json|xml)$/.test(type))
  const format = Object.hasOwn(known, type) ? known[type] : isText ? "txt" : undefined
  if (format === undefined) {
    throw refuseMedia(part, `${media} must be ${Object.keys(known).join(", ")}, not ${type}`)
  }
  if (isText && known[type] === undefined) {
    encodeContext.losses.push(approximated.hint(memberPath(part.at, "mediaType"), "text is sent as text/plain"))
  }
  const bytes = source.at === "text" ? Buffer.from(source.text, "utf8").toString("base64") : plainBase64(source.base64)
  if (bytes === "") throw refuseMedia(part, "it is empty")
  return { format, bytes }
}

/** Parameters after the media type do not affect the format. */
function bareType(mediaType: string): string {
  const [type = ""] = mediaType.toLowerCase().split(";")
  return type.trim()
}

/** The standard alphabet, padded, on one line. */
function plainBase64(base64: string): string {
  if (!/[-_\s]/.test(base64) && base64.length % 4 === 0) return base64
  return Buffer.from(base64, "base64").toString("base64")
}

const MAX_NAME = 200

/** Letters, digits, single spaces, hyphens and brackets; unique within a request. */
function documentName({ name, at }: MediaPart, { documents, losses }: BedrockEncodeContext): string {
  const fit = (name ?? "")
    .replace(/[^A-Za-z0-9 ()[\]-]+/g, "-")
    .replace(/ {2,}/g, " ")
    .slice(0, MAX_NAME - 10)
    .replace(/^[ -]+|[ -]+$/g, "")
  const base = fit === "" ? "Document" : fit
  let unique = fit === "" ? `Document ${documents.size + 1}` : base
  for (let copy = 2; documents.has(unique); copy++) unique = `${base} (${copy})`
  documents.add(unique)
  if (name !== undefined && name !== unique) {
    losses.push(approximated.hint(memberPath(at, "name"), `the document is renamed to \`${unique}\``))
  }
  return unique
}

function refuseMedia({ at }: MediaPart, why: string): GatewayError {
  const param = at ?? "messages"
  return new GatewayError("unsupported_parameter", `\`${param}\` cannot be sent: ${why}.`, { param })
}
