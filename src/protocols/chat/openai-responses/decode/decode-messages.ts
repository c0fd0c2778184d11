// Decodes a request's `input` into instructions and turns. Items that only this protocol understands are turns of one
// foreign part.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import { openSeal, type SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { FieldReader, object, text } from "../../../openai/field-reader.ts"
import { ownExtra, PROTOCOL, type ResponsesWriting, writingOf } from "../passthrough-fields.ts"
import { BETWEEN_THOUGHTS, openCallSeal, sealReasoning, type ToolCallSeal, textsOf } from "../seals.ts"
import { LOCAL_SHELL } from "../tools/local-shell.ts"
import { flatName } from "../tools/tool-namespaces.ts"
import { callIn, hostedRunIn } from "./decode-output-calls.ts"
import { decodeContent } from "./decode-part.ts"

function decodeItem(item: JsonObject, at: string): ConversationTurn {
  const type = item.type ?? "message"
  const decode = typeof type === "string" && Object.hasOwn(ITEMS, type) ? ITEMS[type] : undefined
  return decode?.(new FieldReader(item), at) ?? foreignTurn(item, at)
}

function foreignTurn(item: JsonObject, at: string): ConversationTurn {
  const isOutput = typeof item.type === "string" && item.type.endsWith("_output")
  const extra = ownExtra({}, { item: "other" })
  const part: ContentPart = { kind: "foreign", at, protocol: PROTOCOL, value: item }
  return { at, role: isOutput ? "user" : "assistant", parts: [part], ...(extra && { extra }) }
}

type ItemDecoder = (fields: FieldReader, at: string) => ConversationTurn | undefined

const ITEMS: Readonly<Record<string, ItemDecoder | undefined>> = {
  message: decodeMessage,
  function_call: (fields, at) => decodeCall(fields, { at, member: "arguments" }),
  custom_tool_call: (fields, at) => decodeCall(fields, { at, member: "input" }),
  local_shell_call: decodeShellCall,
  function_call_output: (fields, at) => decodeOutput(fields, { at }),
  custom_tool_call_output: (fields, at) => decodeOutput(fields, { at, item: "custom_tool_call_output" }),
  local_shell_call_output: (fields, at) => decodeOutput(fields, { at, item: "local_shell_call_output" }),
  mcp_call: decodeRemoteCall,
  reasoning: decodeReasoning,
}

/** The vendor's item ids and statuses, which have no meaning elsewhere. */
function plainMembers(fields: FieldReader, names: readonly string[]): JsonObject | undefined {
  const taken = names.flatMap((name) => {
    const value = fields.take(name, text)
    return value === undefined ? [] : [[name, value] as const]
  })
  return taken.length > 0 ? Object.fromEntries(taken) : undefined
}

function decodeMessage(fields: FieldReader, at: string): ConversationTurn | undefined {
  const plain = plainMembers(fields, ["type", "id", "status"])
  const role = fields.take("role", text)
  const word = role === "assistant" ? "output_text" : "input_text"
  const content = fields.take("content", (value) => decodeContent(value, { at: `${at}.content`, word }))
  if (!content) return undefined
  const isInstruction = role === "system" || role === "developer"
  const written: ResponsesWriting = {
    ...content.written,
    item: "message",
    ...(plain && { plain }),
    ...(isInstruction && { word: role }),
  }
  const extra = ownExtra(fields.rest(), written)
  const turnRole = isInstruction ? "instruction" : role === "assistant" ? "assistant" : "user"
  return { at, role: turnRole, parts: content.parts, ...(extra && { extra }) }
}

function decodeCall(
  fields: FieldReader,
  { at, member }: { at: string; member: "arguments" | "input" },
): ConversationTurn | undefined {
  fields.take("type", text)
  const id = fields.take("call_id", text)
  const name = fields.take("name", text)
  const args = fields.take(member, text)
  const set = fields.take("namespace", text)
  const plain = plainMembers(fields, ["id", "status"])
  if (id === undefined || name === undefined || args === undefined) return undefined
  const namespace = set === undefined ? undefined : { name: set, inner: name }
  const extra = ownExtra(fields.rest(), { ...(plain && { plain }), ...(namespace && { namespace }) })
  const call: ToolCallPart = {
    kind: "tool-call",
    at,
    id,
    name: set === undefined ? name : flatName(set, name),
    arguments: args,
    ...(member === "input" && { input: "text" }),
    runsAt: "client",
    ...(extra && { extra }),
  }
  return { at, role: "assistant", parts: [call] }
}

function decodeShellCall(fields: FieldReader, at: string): ConversationTurn | undefined {
  fields.take("type", text)
  const id = fields.take("call_id", text)
  const action = fields.take("action", object)
  const plain = plainMembers(fields, ["id", "status"])
  if (id === undefined || !action) return undefined
  const extra = ownExtra(fields.rest(), { as: action, ...(plain && { plain }) })
  const { type: _, ...args } = action
  const call: ContentPart = {
    kind: "tool-call",
    at,
    id,
    name: LOCAL_SHELL,
    arguments: JSON.stringify(args),
    runsAt: "client",
    ...(extra && { extra }),
  }
  return { at, role: "assistant", parts: [call] }
}

function decodeOutput(
  fields: FieldReader,
  { at, item }: { at: string; item?: ResponsesWriting["item"] },
): ConversationTurn | undefined {
  fields.take("type", text)
  const isShell = item === "local_shell_call_output"
  const called = fields.take("call_id", text)
  const plain = plainMembers(fields, ["id", "status"])
  // A shell output without a call id has its own id as the call's.
  const callId = called ?? (isShell ? plain?.id : undefined)
  const content = fields.take("output", (value) => decodeContent(value, { at: `${at}.output`, word: "input_text" }))
  if (typeof callId !== "string" || !content) return undefined
  const extra = ownExtra(fields.rest(), {
    ...content.written,
    ...(item && { item }),
    ...(plain && { plain }),
    ...(called === undefined && { word: "id" }),
  })
  const { parts } = content
  return {
    at,
    role: "user",
    parts: [{ kind: "tool-result", at, callId, parts, isError: false, ...(extra && { extra }) }],
  }
}

/** A remote server's call and its result are one item, which returns unchanged. */
function decodeRemoteCall({ object: item }: FieldReader, at: string): ConversationTurn | undefined {
  const { id, name, arguments: args, server_label: server } = item
  const call = callIn(item)
  const isWhole = [id, name, args, server].every((each) => typeof each === "string")
  if (!call || !isWhole || typeof args !== "string") return undefined
  const extra = ownExtra({}, { as: item })
  const { result } = hostedRunIn(item, call)
  if (result?.kind !== "tool-result") return undefined
  const parts: ContentPart[] = [
    { ...call, at, arguments: args, ...(extra && { extra }) },
    { ...result, at, ...(extra && { extra }) },
  ]
  return { at, role: "assistant", parts }
}

/** An item with one of the gateway's seals is restored from it; any other returns unchanged. */
function decodeReasoning(fields: FieldReader, at: string): ConversationTurn {
  const summary = textsOf(fields.peek("summary", (value) => value))
  const content = textsOf(fields.peek("content", (value) => value))
  const slot = fields.peek("encrypted_content", text)
  const opened = slot === undefined ? undefined : openSeal(slot)
  const texts = content.length > 0 ? content : summary
  const sealed = opened ?? ownSeal(fields)
  const extra = opened ? undefined : ownExtra({}, { as: fields.object })
  const joined = texts.join(BETWEEN_THOUGHTS)
  const form = joined === "" ? "hidden" : content.length > 0 ? "full" : "summary"
  const part: ContentPart = {
    kind: "reasoning",
    at,
    form,
    text: joined,
    ...(sealed && { sealed }),
    ...(extra && { extra }),
  }
  return { at, role: "assistant", parts: [part] }
}

function ownSeal(fields: FieldReader): SealedContent | undefined {
  return sealReasoning(fields.object, PROTOCOL)
}

interface DecodedInput {
  readonly instructions: readonly ContentPart[]
  readonly turns: readonly ConversationTurn[]
}

export function decodeInput(input: string | readonly Json[] | undefined): DecodedInput {
  if (typeof input === "string") {
    const parts: ContentPart[] = input === "" ? [] : [{ kind: "text", at: "input", text: input }]
    return { instructions: [], turns: [{ at: "input", role: "user", parts }] }
  }
  const instructions: ContentPart[] = []
  const turns: ConversationTurn[] = []
  const seals: ToolCallSeal[] = []
  for (const [index, item] of (input ?? []).entries()) {
    if (!isObject(item)) continue
    const turn = decodeItem(item, `input[${index}]`)
    const opening = turns.length === 0 ? openingParts(turn) : undefined
    if (opening) instructions.push(...opening)
    else {
      const seal = callSealIn(turn)
      if (seal) seals.push(seal)
      else turns.push(turn)
    }
  }
  return { instructions, turns: seals.length === 0 ? turns : withCallSeals(turns, seals) }
}

/**
 * The parts of an instruction before the first turn; undefined for any other turn. The first part keeps the message's
 * own members.
 */
function openingParts({ role, parts, extra }: ConversationTurn): readonly ContentPart[] | undefined {
  const [first, ...others] = parts
  if (role !== "instruction" || !first) return undefined
  const { word = "developer", content, plain } = writingOf(extra)
  const members = Object.keys(extra?.members ?? {})
  const opens = {
    role: word,
    ...(content === "list" && { content }),
    ...(plain && { plain }),
    ...(members.length > 0 && { members }),
  }
  const joined = ownExtra({ ...first.extra?.members, ...extra?.members }, { ...writingOf(first.extra), opens })
  return [{ ...first, ...(joined && { extra: joined }) }, ...others]
}

/** The seal of a call, if the turn is an item that carried one across the client. */
function callSealIn({ parts: [part] }: ConversationTurn): ToolCallSeal | undefined {
  return part?.kind === "reasoning" && part.sealed ? openCallSeal(part.sealed) : undefined
}

/** Puts seals back on their calls. Items with seals precede their calls; earlier releases put them after. */
function withCallSeals(turns: readonly ConversationTurn[], seals: readonly ToolCallSeal[]): ConversationTurn[] {
  const byCall = new Map(seals.map(({ callId, sealed }) => [callId, sealed]))
  return turns.map((turn) => {
    if (!turn.parts.some((part) => part.kind === "tool-call" && byCall.has(part.id))) return turn
    return { ...turn, parts: turn.parts.map((part) => sealedCall(part, byCall)) }
  })
}

function sealedCall(part: ContentPart, seals: ReadonlyMap<string, SealedContent>): ContentPart {
  const sealed = part.kind === "tool-call" ? seals.get(part.id) : undefined
  return part.kind === "tool-call" && sealed ? { ...part, sealed } : part
}
