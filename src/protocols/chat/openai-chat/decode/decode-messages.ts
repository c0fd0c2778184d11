// The messages of a request as instructions and turns: each message is a turn, but for the instructions all begin with.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ReasoningPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { FieldReader, list, object, text } from "../../../openai/field-reader.ts"
import { type ChatWriting, ownExtra, PROTOCOL, writingOf } from "../passthrough-fields.ts"
import { sealCall, sealReasoning } from "../seals.ts"
import { decodeContent } from "./decode-part.ts"

interface DecodedMessages {
  readonly instructions: readonly ContentPart[]
  readonly turns: readonly ConversationTurn[]
}

export function decodeMessages(messages: Json | undefined): DecodedMessages {
  const instructions: ContentPart[] = []
  const turns: ConversationTurn[] = []
  for (const [index, message] of (Array.isArray(messages) ? messages : []).entries()) {
    if (!isObject(message)) continue
    const turn = pairLegacyResult(decodeMessage(message, `messages[${index}]`), turns)
    const opening = turns.length === 0 ? openingParts(turn, instructions.length === 0) : undefined
    if (opening) instructions.push(...opening)
    else turns.push(turn)
  }
  return { instructions, turns }
}

/** A result in the older form answers the last call of its name, which had no id. */
function pairLegacyResult(turn: ConversationTurn, before: readonly ConversationTurn[]): ConversationTurn {
  const [result] = turn.parts
  if (result?.kind !== "tool-result" || writingOf(turn.extra).word !== "function") return turn
  const calls = before.flatMap(({ parts }) => parts.filter((part) => part.kind === "tool-call"))
  const callId = calls.findLast(({ name }) => name === result.name)?.id
  return callId === undefined ? turn : { ...turn, parts: [{ ...result, callId }] }
}

function decodeMessage(message: JsonObject, at: string): ConversationTurn {
  const fields = new FieldReader(message)
  const role = fields.take("role", text)
  if (role === "assistant") return decodeAssistant(fields, at)
  const content = fields.take("content", (value) => decodeContent(value, at))
  const { parts = [], written = {} } = content ?? {}
  if (role === "tool") {
    const callId = fields.take("tool_call_id", text) ?? ""
    const result: ContentPart = { kind: "tool-result", at, callId, parts, isError: false }
    return turnOf({ at, role: "user", parts: [result] }, fields, written)
  }
  if (role === "function") {
    const name = fields.take("name", text) ?? ""
    const result: ContentPart = { kind: "tool-result", at, callId: "", name, parts, isError: false }
    return turnOf({ at, role: "user", parts: [result] }, fields, { ...written, word: role })
  }
  if (role === "user") return turnOf({ at, role, parts }, fields, written)
  const word = role === "system" || role === undefined ? undefined : role
  return turnOf({ at, role: "instruction", parts }, fields, { ...written, ...(word && { word }) })
}

function turnOf(turn: ConversationTurn, fields: FieldReader, written: ChatWriting): ConversationTurn {
  const extra = ownExtra(fields.rest(), written)
  return extra ? { ...turn, extra } : turn
}

/**
 * The parts of an instruction before the first turn; undefined for any other turn. The first part keeps the message's
 * own members.
 */
function openingParts({ role, parts, extra }: ConversationTurn, isFirst: boolean): readonly ContentPart[] | undefined {
  const [first, ...others] = parts
  if (role !== "instruction" || !first) return undefined
  if (isFirst && !extra) return parts
  const { word = "system", content } = writingOf(extra)
  const members = Object.keys(extra?.members ?? {})
  const opens = {
    role: word,
    ...(content === "list" && { content }),
    ...(members.length > 0 && { members }),
  } as const
  const joined = ownExtra({ ...first.extra?.members, ...extra?.members }, { ...writingOf(first.extra), opens })
  return [{ ...first, ...(joined && { extra: joined }) }, ...others]
}

function decodeAssistant(fields: FieldReader, at: string): ConversationTurn {
  const reasoning = decodeReasoning(fields, at)
  const content = fields.take("content", (value) => decodeContent(value, at))
  const refusal = fields.take("refusal", (value) => (value === "" ? undefined : text(value)))
  const calls = fields.take("tool_calls", (value) => list(value)?.map((call, index) => decodeCall(call, { at, index })))
  const legacy = fields.take("function_call", (value) => decodeFunctionCall(value, at))
  const parts: ContentPart[] = [
    ...(reasoning ? [reasoning] : []),
    ...(content?.parts ?? []),
    ...(refusal === undefined ? [] : [{ kind: "refusal", at: `${at}.refusal`, text: refusal } as const]),
    ...(calls ?? []),
    ...(legacy ? [legacy] : []),
  ]
  const noCalls = calls?.length === 0 ? { plain: { tool_calls: [] } } : {}
  return turnOf({ at, role: "assistant", parts }, fields, { ...content?.written, ...noCalls })
}

/** Empty members pass through: some hosts require them back. */
function decodeReasoning(fields: FieldReader, at: string): ReasoningPart | undefined {
  const nonEmpty = (value: Json) => (value === "" ? undefined : text(value))
  const word = (["reasoning_content", "reasoning"] as const).find((name) => fields.peek(name, nonEmpty) !== undefined)
  const details = fields.take("reasoning_details", (value) => (list(value)?.length ? list(value) : undefined))
  if (!word && !details) return undefined
  const thought = word ? fields.take(word, nonEmpty) : undefined
  const { form, joined } = readReasoningDetails(details ?? [])
  const extra = word === "reasoning" ? ownExtra({}, { word }) : undefined
  return {
    kind: "reasoning",
    at: `${at}.${word ?? "reasoning_details"}`,
    form,
    text: thought ?? joined,
    ...(details && { sealed: sealReasoning({ ...(word && { member: word }), details }, PROTOCOL) }),
    ...(extra && { extra }),
  }
}

/** The text and form of OpenRouter's reasoning details. */
export function readReasoningDetails(details: readonly Json[]): { form: ReasoningPart["form"]; joined: string } {
  let joined = ""
  let form: ReasoningPart["form"] | undefined
  for (const detail of details) {
    if (!isObject(detail)) continue
    const piece = detail.type === "reasoning.summary" ? detail.summary : detail.text
    if (typeof piece !== "string" || piece === "") continue
    form ??= detail.type === "reasoning.summary" ? "summary" : "full"
    joined += piece
  }
  return { form: form ?? (details.length > 0 ? "hidden" : "full"), joined }
}

function decodeCall(value: Json, { at, index }: { at: string; index: number }): ContentPart {
  const place = `${at}.tool_calls[${index}]`
  const among = ownExtra({}, { word: "tool_calls" })
  const foreign: ContentPart = { kind: "foreign", at: place, protocol: PROTOCOL, value, ...(among && { extra: among }) }
  if (!isObject(value)) return foreign
  const fields = new FieldReader(value)
  const id = fields.take("id", text)
  const type = fields.take("type", text)
  const called =
    type === "custom"
      ? fields.within("custom", (custom) => readCalledTool(custom, "input"))
      : fields.within("function", (fn) => readCalledTool(fn, "arguments"))
  if (!called || (type !== undefined && type !== "function" && type !== "custom")) return foreign
  const sealed = fields.take("extra_content", (content) => object(content) && sealCall(content as JsonObject, PROTOCOL))
  const { absent, ...words } = called
  const odd = [...(id === undefined ? ["id"] : []), ...(type === undefined ? ["type"] : []), ...absent]
  const extra = ownExtra(fields.rest(), odd.length > 0 ? { word: odd.join() } : {})
  return {
    kind: "tool-call",
    at: place,
    id: id ?? "",
    ...words,
    ...(type === "custom" && { input: "text" }),
    runsAt: "client",
    ...(sealed && { sealed }),
    ...(extra && { extra }),
  }
}

function readCalledTool(fields: FieldReader, member: "arguments" | "input") {
  const name = fields.take("name", text)
  const args = fields.take(member, text)
  if (name === undefined) return undefined
  return { name, arguments: args ?? "", absent: args === undefined ? [member] : [] }
}

/** The older form, which had one call and no id for it. */
function decodeFunctionCall(value: Json, at: string): ToolCallPart | undefined {
  const { name, arguments: args, ...more } = object(value) ?? {}
  if (typeof name !== "string" || typeof args !== "string" || Object.keys(more).length > 0) return undefined
  const extra = ownExtra({}, { legacy: true })
  const place = `${at}.function_call`
  const id = `call_${at.replace(/\D/g, "")}`
  return { kind: "tool-call", at: place, id, name, arguments: args, runsAt: "client", ...(extra && { extra }) }
}
