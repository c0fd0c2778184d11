// Encodes parts of a request as content blocks. A part that cannot be expressed is dropped and reported as a loss.

import type {
  CacheMark,
  ContentPart,
  MediaPart,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import { toolInput } from "../../../schema/tool-input.ts"
import { PROTOCOL, reportForeignFields } from "../passthrough-fields.ts"
import { redactedContent } from "../seals.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"
import { encodeMedia } from "./encode-media.ts"

type ConverseBlockLocation = "system" | "user" | "assistant" | "result"

/** The kinds allowed at each position. */
const PLACES: Readonly<Record<ConverseBlockLocation, readonly ContentPart["kind"][]>> = {
  system: ["text", "refusal"],
  user: ["text", "refusal", "media", "tool-result"],
  assistant: ["text", "refusal", "reasoning", "tool-call"],
  result: ["text", "refusal", "media"],
}

export interface ConverseBlockContext {
  readonly place: ConverseBlockLocation
  readonly encodeContext: BedrockEncodeContext
}

/** A block, and the cache point that follows it. */
export interface PlacedBlock {
  readonly block: JsonObject
  readonly mark?: CacheMark & { readonly at: string }
}

export function encodeParts(parts: readonly ContentPart[], where: ConverseBlockContext): PlacedBlock[] {
  return parts.flatMap((part) => encodePart(part, where))
}

function encodePart(part: ContentPart, { place, encodeContext }: ConverseBlockContext): PlacedBlock[] {
  const { losses } = encodeContext
  const at = part.at ?? place
  if (part.kind === "foreign") {
    losses.push(dropped.meaning(at, "this content exists only in the protocol it was written in"))
    return []
  }
  if (!PLACES[place].includes(part.kind)) {
    const why = `the Converse protocol does not allow a ${part.kind} here`
    losses.push(dropped[part.kind === "reasoning" ? "hint" : "meaning"](at, why))
    return []
  }
  reportForeignFields(part.extra, { at, losses })
  const blocks = blocksOf(part, encodeContext)
  const mark = markOf(part, at)
  const last = blocks.length - 1
  return blocks.map((block, index) => ({ block, ...(mark && index === last && { mark }) }))
}

function markOf(part: ContentPart, at: string): PlacedBlock["mark"] {
  // A result cannot contain a cache point, but one may follow it.
  const found =
    part.cacheMark ??
    (part.kind === "tool-result" ? part.parts.findLast(({ cacheMark }) => cacheMark) : part)?.cacheMark
  return found && { ...found, at }
}

function blocksOf(part: Exclude<ContentPart, { kind: "foreign" }>, encodeContext: BedrockEncodeContext): JsonObject[] {
  switch (part.kind) {
    case "text":
      if (part.citations && part.citations.length > 0) {
        encodeContext.losses.push(
          dropped.hint(
            memberPath(part.at, "citations"),
            "the Converse protocol does not accept citations in a request",
          ),
        )
      }
      return textBlocks(part.text)
    case "refusal":
      return textBlocks(part.text)
    case "media":
      return [encodeMedia(part, encodeContext)]
    case "reasoning":
      return reasoningBlocks(part, encodeContext)
    case "tool-call":
      return callBlocks(part, encodeContext)
    case "tool-result":
      return resultBlocks(part, encodeContext)
  }
}

/** The vendor refuses blocks of only white space. */
function textBlocks(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ text }]
}

function reasoningBlocks({ sealed, text, at }: ReasoningPart, { minter, losses }: BedrockEncodeContext): JsonObject[] {
  if (sealed && (sealed.mintedBy === minter || sealed.mintedBy === PROTOCOL)) {
    const redacted = redactedContent(sealed)
    const reasoningContent =
      redacted === undefined ? { reasoningText: { text, signature: sealed.data } } : { redactedContent: redacted }
    return [{ reasoningContent }]
  }
  const why = sealed ? "only its minter can read this seal" : "the models accept only reasoning that they signed"
  losses.push(dropped.hint(at ?? "messages", why))
  return []
}

function callBlocks(part: ToolCallPart, { losses }: BedrockEncodeContext): JsonObject[] {
  const { id, name, runsAt, sealed, at } = part
  if (runsAt === "provider") {
    losses.push(dropped.meaning(at ?? "messages", "another provider ran this tool"))
    return []
  }
  if (sealed) losses.push(dropped.hint(memberPath(at, "sealed"), "only its minter can read this seal"))
  const { input, exact } = toolInput(part)
  if (!exact) {
    const why = "its arguments are not a JSON object and are sent as text"
    losses.push(approximated.meaning(memberPath(at, "arguments"), why))
  }
  return [{ toolUse: { toolUseId: id, name, input } }]
}

/** Media that a result may not contain follows it. */
function resultBlocks(part: ToolResultPart, encodeContext: BedrockEncodeContext): JsonObject[] {
  const { callId, isError } = part
  const { family, losses } = encodeContext
  const isOutside = (each: ContentPart): each is MediaPart =>
    each.kind === "media" && !family.inResults.includes(each.media)
  const outside = part.parts.filter(isOutside)
  for (const { at, media } of outside) {
    losses.push(approximated.hint(at ?? part.at ?? "messages", `${media} in a tool result is sent after the result`))
  }
  const inside = part.parts.filter((each) => !isOutside(each))
  const content = encodeParts(inside, { place: "result", encodeContext }).map(({ block }) => block)
  if (content.length === 0) content.push({ text: outside.length > 0 ? "(see below)" : "(nothing)" })
  if (isError && !family.failures) {
    losses.push(approximated.hint(memberPath(part.at, "isError"), "the error is described in the text"))
    content.unshift({ text: "The tool failed:" })
  }
  const toolResult = { toolUseId: callId, content, ...(isError && family.failures && { status: "error" }) }
  return [{ toolResult }, ...outside.map((each) => encodeMedia(each, encodeContext))]
}
