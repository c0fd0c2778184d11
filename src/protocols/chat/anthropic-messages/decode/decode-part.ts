// Decodes one content block of a request or response. An unknown block stays whole as a foreign part.

import type {
  CacheMark,
  ContentPart,
  ForeignPart,
  MediaPart,
  MediaSource,
  ToolCallPart,
} from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { claimFields, type FieldClaim, type PassthroughFields } from "../../../../canonical/passthrough-fields.ts"
import { decodeCitations } from "../citations.ts"
import { ownExtra, PROTOCOL } from "../passthrough-fields.ts"
import { sealIn } from "../seals.ts"

export interface BlockOrigin {
  /** Path in the caller's request. */
  readonly at?: string
  /** The minter of a response's seals; absent in a request. */
  readonly minter?: string
}

export function decodeBlock(value: Json, origin: BlockOrigin): ContentPart {
  if (!isObject(value) || typeof value.type !== "string") return foreignPart(value, origin)
  const part = DECODERS.get(value.type)?.(value, origin)
  if (part) return part
  return serverResult(value, value.type, origin) ?? foreignPart(value, origin)
}

type BlockDecoder = (block: JsonObject, origin: BlockOrigin) => ContentPart | undefined

const DECODERS: ReadonlyMap<string, BlockDecoder> = new Map<string, BlockDecoder>([
  ["text", textPart],
  ["thinking", thinkingPart],
  ["redacted_thinking", redactedPart],
  ["tool_use", (block, origin) => toolCall(block, { origin, runsAt: "client" })],
  ["server_tool_use", (block, origin) => toolCall(block, { origin, runsAt: "provider" })],
  ["mcp_tool_use", remoteCall],
  ["tool_result", toolResult],
  ["image", (block, origin) => mediaPart(block, { origin, media: "image" })],
  ["document", (block, origin) => mediaPart(block, { origin, media: "document" }) ?? documentOfBlocks(block, origin)],
  ["search_result", searchResult],
])

function foreignPart(value: Json, { at }: BlockOrigin): ForeignPart {
  return { kind: "foreign", ...(at !== undefined && { at }), protocol: PROTOCOL, value }
}

interface PartBaseMembers {
  readonly at?: string
  readonly cacheMark?: CacheMark
  readonly extra?: PassthroughFields
}

/** Members of every part; called last, when the others have been claimed. */
function partBaseMembers(held: FieldClaim, block: JsonObject, { at }: BlockOrigin): PartBaseMembers {
  const cacheMark = takeCacheMark(held, block)
  const extra = held.rest(PROTOCOL)
  return { ...(at !== undefined && { at }), ...(cacheMark && { cacheMark }), ...(extra && { extra }) }
}

/** An unknown kind of cache mark passes through. */
export function takeCacheMark(held: FieldClaim, { cache_control: mark }: JsonObject): CacheMark | undefined {
  if (mark === undefined) return undefined
  if (mark === null) {
    held.take("cache_control")
    return undefined
  }
  if (!isObject(mark) || mark.type !== "ephemeral" || Object.keys(mark).length > ("ttl" in mark ? 2 : 1)) {
    return undefined
  }
  const { ttl } = mark
  if (ttl !== undefined && ttl !== "5m" && ttl !== "1h") return undefined
  held.take("cache_control")
  return ttl === undefined ? {} : { ttl }
}

function textPart(block: JsonObject, origin: BlockOrigin): ContentPart | undefined {
  if (typeof block.text !== "string") return undefined
  const held = claimBlock(block, "text")
  const citations = decodeCitations(block.citations)
  if (citations || block.citations === null) held.take("citations")
  const cites = citations && (citations.length > 0 || origin.minter === undefined)
  return { kind: "text", text: block.text, ...(cites && { citations }), ...partBaseMembers(held, block, origin) }
}

function thinkingPart(block: JsonObject, origin: BlockOrigin): ContentPart | undefined {
  const { thinking, signature } = block
  if (typeof thinking !== "string") return undefined
  const held = claimBlock(block, "thinking")
  const signed = typeof signature === "string" && signature !== ""
  if (signed || signature === "") held.take("signature")
  const sealed = signed && { sealed: sealIn({ text: signature, redacted: false, minter: origin.minter }) }
  return { kind: "reasoning", form: "full", text: thinking, ...sealed, ...partBaseMembers(held, block, origin) }
}

function redactedPart(block: JsonObject, origin: BlockOrigin): ContentPart | undefined {
  if (typeof block.data !== "string" || block.data === "") return undefined
  const held = claimBlock(block, "data")
  const sealed = sealIn({ text: block.data, redacted: true, minter: origin.minter })
  return { kind: "reasoning", form: "hidden", text: "", sealed, ...partBaseMembers(held, block, origin) }
}

interface BlockCallOrigin {
  readonly origin: BlockOrigin
  readonly runsAt: ToolCallPart["runsAt"]
}

function toolCall(block: JsonObject, { origin, runsAt }: BlockCallOrigin): ToolCallPart | undefined {
  const { id, name, input = {} } = block
  if (typeof id !== "string" || typeof name !== "string") return undefined
  const held = claimBlock(block, "id", "name", "input")
  if (isDirect(block.caller)) held.take("caller")
  return {
    kind: "tool-call",
    id,
    name,
    arguments: JSON.stringify(input),
    runsAt,
    ...partBaseMembers(held, block, origin),
  }
}

function remoteCall(block: JsonObject, origin: BlockOrigin): ToolCallPart | undefined {
  const { server_name: server, ...rest } = block
  if (typeof server !== "string") return toolCall(block, { origin, runsAt: "provider" })
  const call = toolCall(rest, { origin, runsAt: "provider" })
  return call && { ...call, server }
}

/** A direct caller is the default. */
function isDirect(caller: Json | undefined): boolean {
  return isObject(caller) && caller.type === "direct" && Object.keys(caller).length === 1
}

function toolResult(block: JsonObject, origin: BlockOrigin): ContentPart | undefined {
  const { tool_use_id: callId, content } = block
  if (typeof callId !== "string") return undefined
  const held = claimBlock(block, "tool_use_id")
  if (block.is_error === undefined || block.is_error === null || typeof block.is_error === "boolean") {
    held.take("is_error")
  }
  const parts = decodeContent(content, origin)
  if (parts || content === null) held.take("content")
  const isError = block.is_error === true
  return { kind: "tool-result", callId, parts: parts ?? [], isError, ...partBaseMembers(held, block, origin) }
}

/** A string or a list of blocks; undefined otherwise. */
export function decodeContent(content: Json | undefined, { at, minter }: BlockOrigin): ContentPart[] | undefined {
  const inside = at === undefined ? undefined : `${at}.content`
  if (typeof content === "string") {
    return [{ kind: "text", ...(inside !== undefined && { at: inside }), text: content }]
  }
  if (!Array.isArray(content)) return undefined
  return content.map((block: Json, index) =>
    decodeBlock(block, {
      ...(inside !== undefined && { at: `${inside}[${index}]` }),
      ...(minter !== undefined && { minter }),
    }),
  )
}

const RESULT = "_tool_result"

/** The result of a tool that the provider ran. Its content is partly sealed, so only the vendor can read it. */
function serverResult(block: JsonObject, type: string, origin: BlockOrigin): ContentPart | undefined {
  const { tool_use_id: callId, content } = block
  if (!type.endsWith(RESULT) || typeof callId !== "string") return undefined
  const held = claimBlock(block, "tool_use_id", "content")
  if (isDirect(block.caller)) held.take("caller")
  if (type === REMOTE_RESULT && typeof block.is_error === "boolean") held.take("is_error")
  const failed = isObject(content) && typeof content.type === "string" && content.type.endsWith("_error")
  return {
    kind: "tool-result",
    callId,
    name: type.slice(0, -RESULT.length),
    parts: content === undefined ? [] : [foreignPart(content, {}), ...remoteText(type, content)],
    isError: failed || block.is_error === true,
    ...(type === REMOTE_RESULT && { isRemote: true as const }),
    ...partBaseMembers(held, block, origin),
  }
}

const REMOTE_RESULT = `mcp${RESULT}`

/** The text that a remote server's tool returned; for the vendor's own tools it is sealed. */
function remoteText(type: string, content: Json): ContentPart[] {
  const text = type === REMOTE_RESULT ? joinTexts(content) : undefined
  return text === undefined ? [] : [{ kind: "text", text }]
}

function searchResult(block: JsonObject, origin: BlockOrigin): ContentPart | undefined {
  const { title, source, content } = block
  const text = joinTexts(content)
  if (typeof title !== "string" || typeof source !== "string" || text === undefined) return undefined
  return passagePart(block, { origin, names: ["title", "source", "content"], text: `Source: ${source}\n\n${text}` })
}

/** A document with a list of blocks as its source. */
function documentOfBlocks(block: JsonObject, origin: BlockOrigin): ContentPart | undefined {
  const { source } = block
  const text = isObject(source) && source.type === "content" ? joinTexts(source.content) : undefined
  return text === undefined ? undefined : passagePart(block, { origin, names: ["title", "source"], text })
}

/** A passage is plain text with its title to other protocols, and to its own the block that it was. */
function passagePart(
  block: JsonObject,
  { origin, names, text }: { origin: BlockOrigin; names: readonly string[]; text: string },
): ContentPart {
  const held = claimBlock(block, ...names)
  const own = Object.fromEntries(
    ["type", ...names].flatMap((name) => (name in block ? [[name, block[name] ?? null]] : [])),
  )
  const { extra, ...rest } = partBaseMembers(held, block, origin)
  const title = typeof block.title === "string" && block.title !== "" ? `Title: ${block.title}\n` : ""
  return { kind: "text", text: title + text, ...rest, extra: ownExtra(extra?.members ?? {}, own) }
}

function joinTexts(content: Json | undefined): string | undefined {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return undefined
  const texts = content.map((block) => (isObject(block) && block.type === "text" ? block.text : undefined))
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : undefined
}

interface BlockMediaOrigin {
  readonly origin: BlockOrigin
  readonly media: "image" | "document"
}

function mediaPart(block: JsonObject, { origin, media }: BlockMediaOrigin): MediaPart | undefined {
  if (!isObject(block.source)) return undefined
  const from = claimFields(block.source)
  const source = mediaSource(block.source, from)
  if (!source) return undefined
  const held = claimBlock(block, "source")
  const named = media === "document" && typeof block.title === "string"
  if (named) held.take("title")
  const { extra, ...rest } = partBaseMembers(held, block, origin)
  // Unclaimed members of the source return to it.
  const left = from.rest(PROTOCOL)
  const members = { ...extra?.members, ...(left && { source: left.members }) }
  return {
    kind: "media",
    media,
    source,
    ...(named && { name: block.title as string }),
    ...rest,
    ...((extra || left) && { extra: { protocol: PROTOCOL, members } }),
  }
}

function mediaSource({ type, media_type, data, url, file_id }: JsonObject, from: FieldClaim): MediaSource | undefined {
  const take = (...names: string[]) => {
    for (const name of ["type", ...names]) from.take(name)
  }
  if (type === "url" && typeof url === "string") {
    take("url")
    return { at: "url", url }
  }
  if (type === "file" && typeof file_id === "string") {
    take("file_id")
    return { at: "stored", id: file_id, mintedBy: PROTOCOL }
  }
  if (typeof media_type !== "string" || typeof data !== "string") return undefined
  if (type !== "base64" && type !== "text") return undefined
  take("media_type", "data")
  if (type === "text") return { at: "text", mediaType: media_type, text: data }
  return { at: "inline", mediaType: media_type, base64: data }
}

/** Claims the block's type and these members. */
function claimBlock(block: JsonObject, ...names: readonly string[]): FieldClaim {
  const held = claimFields(block)
  held.take("type")
  for (const name of names) held.take(name)
  return held
}
