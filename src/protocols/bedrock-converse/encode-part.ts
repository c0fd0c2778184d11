// The parts of a request as content blocks. A part that cannot be said is left out and named in the losses.
import type { JsonObject } from "../../canonical/json.ts"
import type { CacheMark, MediaPart, Part, ReasoningPart, ToolCallPart, ToolResultPart } from "../../canonical/part.ts"
import { approximated, dropped, member } from "../losses.ts"
import { toolInput } from "../tool-input.ts"
import { mediaBlock } from "./encode-media.ts"
import { PROTOCOL, reportExtra } from "./own.ts"
import { redactedContent } from "./seals.ts"
import type { Writing } from "./writing.ts"

type Place = "system" | "user" | "assistant" | "result"

/** Which kinds may stand where. */
const PLACES: Readonly<Record<Place, readonly Part["kind"][]>> = {
  system: ["text", "refusal"],
  user: ["text", "refusal", "media", "tool-result"],
  assistant: ["text", "refusal", "reasoning", "tool-call"],
  result: ["text", "refusal", "media"],
}

export interface Where {
  readonly place: Place
  readonly writing: Writing
}

/** A block, and the cache border that shall stand behind it. */
export interface Placed {
  readonly block: JsonObject
  readonly mark?: CacheMark & { readonly at: string }
}

export function encodeParts(parts: readonly Part[], where: Where): Placed[] {
  return parts.flatMap((part) => encodePart(part, where))
}

function encodePart(part: Part, { place, writing }: Where): Placed[] {
  const { losses } = writing
  const at = part.at ?? place
  if (part.kind === "foreign") {
    losses.push(dropped.meaning(at, "only the protocol it was written in knows this content"))
    return []
  }
  if (!PLACES[place].includes(part.kind)) {
    const why = `a ${part.kind} cannot stand here in the Converse protocol`
    losses.push(dropped[part.kind === "reasoning" ? "hint" : "meaning"](at, why))
    return []
  }
  reportExtra(part.extra, { at, losses })
  const blocks = blocksOf(part, writing)
  const mark = markOf(part, at)
  const last = blocks.length - 1
  return blocks.map((block, index) => ({ block, ...(mark && index === last && { mark }) }))
}

function markOf(part: Part, at: string): Placed["mark"] {
  // Inside a result no border can stand, but behind it one can.
  const found =
    part.cacheMark ??
    (part.kind === "tool-result" ? part.parts.findLast(({ cacheMark }) => cacheMark) : part)?.cacheMark
  return found && { ...found, at }
}

function blocksOf(part: Exclude<Part, { kind: "foreign" }>, writing: Writing): JsonObject[] {
  switch (part.kind) {
    case "text":
      if (part.citations && part.citations.length > 0) {
        writing.losses.push(dropped.hint(member(part.at, "citations"), "the models are not told what they cited"))
      }
      return textBlocks(part.text)
    case "refusal":
      return textBlocks(part.text)
    case "media":
      return [mediaBlock(part, writing)]
    case "reasoning":
      return reasoningBlocks(part, writing)
    case "tool-call":
      return callBlocks(part, writing)
    case "tool-result":
      return resultBlocks(part, writing)
  }
}

/** The vendor refuses blocks of nothing but white space. */
function textBlocks(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ text }]
}

function reasoningBlocks({ sealed, text, at }: ReasoningPart, { minter, losses }: Writing): JsonObject[] {
  if (sealed && (sealed.mintedBy === minter || sealed.mintedBy === PROTOCOL)) {
    const redacted = redactedContent(sealed)
    const reasoningContent =
      redacted === undefined ? { reasoningText: { text, signature: sealed.data } } : { redactedContent: redacted }
    return [{ reasoningContent }]
  }
  const why = sealed ? "only its minter reads this seal" : "the models take back only reasoning they have signed"
  losses.push(dropped.hint(at ?? "messages", why))
  return []
}

function callBlocks(part: ToolCallPart, { losses }: Writing): JsonObject[] {
  const { id, name, runsAt, sealed, at } = part
  if (runsAt === "provider") {
    losses.push(dropped.meaning(at ?? "messages", "another provider ran this tool"))
    return []
  }
  if (sealed) losses.push(dropped.hint(member(at, "sealed"), "only its minter reads this seal"))
  const { input, exact } = toolInput(part)
  if (!exact) {
    const why = "its arguments are no JSON object, and are sent as the text they are"
    losses.push(approximated.meaning(member(at, "arguments"), why))
  }
  return [{ toolUse: { toolUseId: id, name, input } }]
}

/** What a result may not hold is said behind it. */
function resultBlocks(part: ToolResultPart, writing: Writing): JsonObject[] {
  const { callId, isError } = part
  const { family, losses } = writing
  const isBeside = (each: Part): each is MediaPart => each.kind === "media" && !family.inResults.includes(each.media)
  const beside = part.parts.filter(isBeside)
  for (const { at, media } of beside) {
    losses.push(approximated.hint(at ?? part.at ?? "messages", `${media} of a result is said behind it`))
  }
  const inside = part.parts.filter((each) => !isBeside(each))
  const content = encodeParts(inside, { place: "result", writing }).map(({ block }) => block)
  if (content.length === 0) content.push({ text: beside.length > 0 ? "(see below)" : "(nothing)" })
  if (isError && !family.failures) {
    losses.push(approximated.hint(member(part.at, "isError"), "that it is an error is said in words"))
    content.unshift({ text: "The tool failed:" })
  }
  const toolResult = { toolUseId: callId, content, ...(isError && family.failures && { status: "error" }) }
  return [{ toolResult }, ...beside.map((each) => mediaBlock(each, writing))]
}
