// Encodes parts of a request as content blocks. A part that cannot be expressed is dropped and reported as a loss.

import type {
  CacheMark,
  ContentPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import { toolInput } from "../../../schema/tool-input.ts"
import { isVendorCitation, ownCitation } from "../citations.ts"
import { isOwn, ownMembers, PROTOCOL } from "../passthrough-fields.ts"
import { redactedData } from "../seals.ts"
import type { AnthropicEncodeContext } from "./encode-context.ts"
import { encodeMedia } from "./encode-media.ts"
import { remoteId, remoteResult } from "./encode-remote-calls.ts"

type BlockLocation = "system" | "user" | "assistant" | "result"

/** The kinds allowed at each position. A request in this protocol is not checked here. */
const PLACES: Readonly<Record<BlockLocation, readonly ContentPart["kind"][]>> = {
  system: ["text", "refusal"],
  user: ["text", "refusal", "media", "tool-result"],
  assistant: ["text", "refusal", "reasoning", "tool-call"],
  result: ["text", "refusal", "media"],
}

export interface BlockContext {
  readonly place: BlockLocation
  readonly encodeContext: AnthropicEncodeContext
}

export function encodeParts(parts: readonly ContentPart[], where: BlockContext): JsonObject[] {
  return parts.flatMap((part) => {
    const block = encodePart(part, where)
    return block ? [block] : []
  })
}

function encodePart(part: ContentPart, { place, encodeContext }: BlockContext): JsonObject | undefined {
  if (part.kind === "foreign") return foreignBlock(part, encodeContext)
  const isRemote = part.kind === "tool-result" && part.isRemote && place === "assistant"
  if (!encodeContext.own && !isRemote && !PLACES[place].includes(part.kind)) {
    const why = `the messages protocol does not allow a ${part.kind} here`
    encodeContext.losses.push(dropped[part.kind === "reasoning" ? "hint" : "meaning"](part.at ?? place, why))
    return undefined
  }
  const block = blockOf(part, encodeContext)
  if (!block) return undefined
  const rest = ownMembers(part.extra, { at: part.at ?? "", losses: encodeContext.losses })
  const members = part.kind === "media" ? withoutSource(rest) : rest
  const marked = part.kind === "reasoning" ? undefined : part.cacheMark
  return { ...block, ...(marked && { cache_control: cacheControl(marked) }), ...members }
}

/** The rest of a source has already returned to it. */
function withoutSource({ source: _, ...members }: JsonObject): JsonObject {
  return members
}

export function cacheControl({ ttl }: CacheMark): JsonObject {
  return { type: "ephemeral", ...(ttl !== undefined && { ttl }) }
}

function blockOf(
  part: Exclude<ContentPart, { kind: "foreign" }>,
  encodeContext: AnthropicEncodeContext,
): JsonObject | undefined {
  switch (part.kind) {
    case "text":
      return textBlock(part, encodeContext)
    case "refusal":
      return part.text.trim() === "" ? undefined : { type: "text", text: part.text }
    case "media":
      return encodeMedia(part, encodeContext)
    case "reasoning":
      return reasoningBlock(part, encodeContext)
    case "tool-call":
      return callBlock(part, encodeContext)
    case "tool-result":
      return resultBlock(part, encodeContext)
  }
}

function foreignBlock(
  { protocol, value, at }: Extract<ContentPart, { kind: "foreign" }>,
  encodeContext: AnthropicEncodeContext,
) {
  if (protocol === PROTOCOL) return value as JsonObject
  encodeContext.losses.push(
    dropped.meaning(at ?? "messages", "this content exists only in the protocol it was written in"),
  )
  return undefined
}

/** The vendor refuses blocks of only white space. */
function textBlock(part: TextPart, { own, losses }: AnthropicEncodeContext): JsonObject | undefined {
  const { text, citations } = part
  if (isOwn(part.extra) && part.extra.block) return part.extra.block
  if (!own && text.trim() === "") return undefined
  if (!citations) return { type: "text", text }
  const known = citations.flatMap((citation) => {
    const wire = ownCitation(citation)
    return wire && isVendorCitation(wire) ? [wire] : []
  })
  if (known.length < citations.length) {
    const why = "the vendor accepts only its own citations"
    losses.push(dropped.hint(memberPath(part.at, "citations"), why))
  }
  const cited = known.length > 0 || citations.length === 0
  return { type: "text", text, ...(cited && { citations: known }) }
}

function reasoningBlock(part: ReasoningPart, encodeContext: AnthropicEncodeContext): JsonObject | undefined {
  const { sealed, text, at } = part
  if (sealed && isFor(sealed, encodeContext)) {
    const data = redactedData(sealed)
    return data === undefined
      ? { type: "thinking", thinking: text, signature: sealed.data }
      : { type: "redacted_thinking", data }
  }
  if (!sealed && encodeContext.own) return { type: "thinking", thinking: text, signature: "" }
  const why = sealed ? "only its minter can read this seal" : "the vendor accepts only reasoning that it signed"
  encodeContext.losses.push(dropped.hint(at ?? "messages", why))
  return undefined
}

function isFor({ mintedBy }: SealedContent, { minter }: AnthropicEncodeContext): boolean {
  return mintedBy === minter || mintedBy === PROTOCOL
}

function callBlock(part: ToolCallPart, encodeContext: AnthropicEncodeContext): JsonObject | undefined {
  const { id, name, runsAt, sealed, at } = part
  if (runsAt === "provider" && !encodeContext.own && part.server === undefined) {
    encodeContext.losses.push(dropped.meaning(at ?? "messages", "another provider ran this tool"))
    return undefined
  }
  if (sealed) encodeContext.losses.push(dropped.hint(memberPath(at, "sealed"), "only its minter can read this seal"))
  const { input, exact } = toolInput(part)
  if (!exact) {
    const why = "its arguments are not a JSON object and are sent as text"
    encodeContext.losses.push(approximated.meaning(memberPath(at, "arguments"), why))
  }
  if (part.server !== undefined) {
    return { type: "mcp_tool_use", id: remoteId(id), name, server_name: part.server, input }
  }
  return { type: runsAt === "client" ? "tool_use" : "server_tool_use", id, name, input }
}

function resultBlock(part: ToolResultPart, encodeContext: AnthropicEncodeContext): JsonObject | undefined {
  const { callId, parts, isError, name } = part
  const [found, ...results] = parts
  if (encodeContext.own && name !== undefined) {
    const content = found?.kind === "foreign" ? { content: found.value } : undefined
    const failed = part.isRemote ? { is_error: isError } : undefined
    return { type: `${name}_tool_result`, tool_use_id: callId, ...failed, ...content }
  }
  if (part.isRemote) return remoteResult(part, results)
  const content = loneText(parts) ?? encodeParts(parts, { place: "result", encodeContext })
  // The vendor treats an empty list and a missing one alike; a string was written as a string.
  const filled = typeof content === "string" || content.length > 0
  return {
    type: "tool_result",
    tool_use_id: callId,
    ...(filled && { content }),
    ...(isError && { is_error: true }),
  }
}

/** The text of content that was a plain string, without other members. */
export function loneText(parts: readonly ContentPart[]): string | undefined {
  const [part] = parts
  if (parts.length !== 1 || part?.kind !== "text" || part.citations || part.cacheMark || part.extra) return undefined
  return part.at !== undefined && !part.at.endsWith("]") ? part.text : undefined
}
