// Decodes one content block of a response. An unknown block stays whole as a foreign part.

import type {
  ContentPart,
  MediaPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { ANSWER_TOOL } from "../answer-tool.ts"
import { decodeCitation } from "../citations.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { redactedSeal } from "../seals.ts"

interface ConverseBlockOrigin extends UpstreamResponseContext {
  /** The part's number in the response, for calls without an id. */
  readonly number: number
}

/** Undefined for an empty block. */
export function decodeBlock(block: Json, origin: ConverseBlockOrigin): ContentPart | undefined {
  if (!isObject(block)) return { kind: "foreign", protocol: PROTOCOL, value: block }
  if (typeof block.text === "string") return block.text === "" ? undefined : { kind: "text", text: block.text }
  const part =
    (isObject(block.toolUse) && decodeCall(block.toolUse, origin)) ||
    (isObject(block.reasoningContent) && decodeReasoning(block.reasoningContent, origin)) ||
    (isObject(block.citationsContent) && decodeCited(block.citationsContent)) ||
    decodeWhole(block)
  return part
}

/** A block that a stream sends in pieces without meaning of their own. */
export function decodeWhole(block: JsonObject): Extract<ContentPart, { kind: "media" | "tool-result" | "foreign" }> {
  const part =
    (isObject(block.toolResult) && decodeResult(block.toolResult)) ||
    (isObject(block.image) && decodeMedia(block.image, "image")) ||
    (isObject(block.audio) && decodeMedia(block.audio, "audio"))
  return part || { kind: "foreign", protocol: PROTOCOL, value: block }
}

function decodeCall(call: JsonObject, origin: ConverseBlockOrigin): ToolCallPart | TextPart {
  const { input = {} } = call
  const start = callStart(call, origin)
  const text = JSON.stringify(input)
  return start.name === ANSWER_TOOL ? { kind: "text", text } : { ...start, arguments: text }
}

export function callStart({ toolUseId, name, type }: JsonObject, { id, number }: ConverseBlockOrigin) {
  return {
    kind: "tool-call",
    id: typeof toolUseId === "string" && toolUseId !== "" ? toolUseId : `tooluse_${id}_${number}`,
    name: typeof name === "string" ? name : "",
    runsAt: type === "server_tool_use" ? "provider" : "client",
  } as const
}

function decodeReasoning(
  { reasoningText, redactedContent }: JsonObject,
  { minter }: ConverseBlockOrigin,
): ContentPart | undefined {
  if (typeof redactedContent === "string") {
    return { kind: "reasoning", form: "hidden", text: "", sealed: redactedSeal(redactedContent, minter) }
  }
  if (!isObject(reasoningText)) return undefined
  const { text = "", signature } = reasoningText
  if (typeof text !== "string") return undefined
  const signed = typeof signature === "string" && signature !== ""
  return { kind: "reasoning", form: "full", text, ...(signed && { sealed: { mintedBy: minter, data: signature } }) }
}

function decodeCited({ content, citations }: JsonObject): TextPart | undefined {
  if (!Array.isArray(content)) return undefined
  const text = content.map((each: Json) => (isObject(each) && typeof each.text === "string" ? each.text : "")).join("")
  const cited = Array.isArray(citations) ? citations.filter(isObject).map(decodeCitation) : []
  return { kind: "text", text, ...(cited.length > 0 && { citations: cited }) }
}

const RESULT = /_result$/

/** The result of a tool that the provider ran. */
function decodeResult({ toolUseId, content, status, type }: JsonObject): ToolResultPart | undefined {
  if (typeof toolUseId !== "string") return undefined
  return {
    kind: "tool-result",
    callId: toolUseId,
    ...(typeof type === "string" && RESULT.test(type) && { name: type.replace(RESULT, "") }),
    parts: Array.isArray(content) ? content.map(resultPart) : [],
    isError: status === "error",
  }
}

function resultPart(block: Json): ContentPart {
  if (isObject(block) && typeof block.text === "string") return { kind: "text", text: block.text }
  if (isObject(block) && block.json !== undefined) return { kind: "text", text: JSON.stringify(block.json) }
  return isObject(block) ? decodeWhole(block) : { kind: "foreign", protocol: PROTOCOL, value: block }
}

function decodeMedia({ format, source }: JsonObject, media: "image" | "audio"): MediaPart | undefined {
  if (typeof format !== "string" || !isObject(source) || typeof source.bytes !== "string") return undefined
  return { kind: "media", media, source: { at: "inline", mediaType: `${media}/${format}`, base64: source.bytes } }
}
