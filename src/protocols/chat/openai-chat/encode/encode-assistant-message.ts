// Encodes an assistant's turn as one message: reasoning, content and tool calls.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ReasoningPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { Json } from "../../../../canonical/json.ts"
import { dropped, memberPath } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { PROTOCOL, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import { type ChatReasoningSeal, openCall, openReasoning } from "../seals.ts"
import { type ChatEncodeContext, maySendSeal } from "./encode-context.ts"
import { encodeContent } from "./encode-part.ts"

/** Undefined if no part of it can be expressed: a message without content is refused. */
export function encodeAssistant(turn: ConversationTurn, encodeContext: ChatEncodeContext): Json | undefined {
  const { content: form, plain } = writingOf(turn.extra)
  const thought: JsonDraft = {}
  const called: JsonDraft = {}
  const contentParts: ContentPart[] = []
  for (const each of turn.parts) {
    const part = each.at === undefined ? { ...each, at: turn.at ?? "" } : each
    if (part.kind === "reasoning") contentParts.push(...thinkingPart(part, thought, encodeContext))
    else if (part.kind === "tool-call") writeCall(part, called, encodeContext)
    else if (part.kind === "refusal" && !writingOf(part.extra).content)
      called.refusal = `${called.refusal ?? ""}${part.text}`
    else if (part.kind === "foreign" && writingOf(part.extra).word === "tool_calls") addCall(called, part.value)
    else if (part.kind === "media" && !encodeContext.own)
      reportPartLoss(part, encodeContext, "an assistant message cannot contain media in chat completions")
    else if (part.kind === "tool-result")
      reportPartLoss(part, encodeContext, "chat completions has no results of provider-run tools")
    else contentParts.push(part)
  }
  const draft: JsonDraft = { role: "assistant" }
  if (contentParts.length > 0 || form)
    draft.content = encodeContent(contentParts, encodeContext, { content: form, between: "" })
  else if (!encodeContext.own && Object.keys(called).length > 0) draft.content = null
  else if (!encodeContext.own && Object.keys(thought).length > 0) draft.content = ""
  const isEmpty = !encodeContext.own && draft.content === undefined
  Object.assign(draft, thought, called, plain)
  const message = restorePassthrough(draft, turn.extra, { at: turn.at ?? "", losses: encodeContext.context.losses })
  return isEmpty ? undefined : message
}

function reportPartLoss(part: ContentPart, { context }: ChatEncodeContext, why: string): void {
  context.losses.push(dropped.meaning(part.at ?? "", why))
}

/** Puts reasoning into the member that its host requires, or returns a content part for hosts that require that. */
function thinkingPart(
  part: ReasoningPart,
  thought: JsonDraft,
  encodeContext: ChatEncodeContext,
): readonly ContentPart[] {
  const { as, word } = writingOf(part.extra)
  if (as !== undefined) return [part]
  const seal = sealOf(part, { word, encodeContext })
  if (!seal) {
    const why = "reasoning is returned only to the provider it came from"
    encodeContext.context.losses.push(dropped.hint(part.at ?? "", why))
    return []
  }
  if (seal.member === "thinking") {
    const value = { type: "thinking", thinking: [{ type: "text", text: part.text }] }
    return [{ kind: "foreign", protocol: PROTOCOL, value }]
  }
  if (seal.member !== undefined && part.text !== "") {
    const before = thought[seal.member]
    thought[seal.member] = typeof before === "string" ? `${before}\n\n${part.text}` : part.text
  }
  if (seal.details) thought.reasoning_details = [...((thought.reasoning_details as Json[]) ?? []), ...seal.details]
  return []
}

function sealOf(
  { sealed }: ReasoningPart,
  { word, encodeContext }: { word: string | undefined; encodeContext: ChatEncodeContext },
): ChatReasoningSeal | undefined {
  if (sealed) return maySendSeal(sealed, encodeContext) ? openReasoning(sealed) : undefined
  return encodeContext.own ? { member: word ?? "reasoning_content" } : undefined
}

function writeCall(part: ToolCallPart, called: JsonDraft, encodeContext: ChatEncodeContext): void {
  const { losses } = encodeContext.context
  const at = part.at ?? ""
  if (part.runsAt === "provider") {
    reportPartLoss(part, encodeContext, "chat completions has no calls of provider-run tools")
    return
  }
  const { legacy, word } = writingOf(part.extra)
  if (legacy) {
    called.function_call = { name: part.name, arguments: part.arguments }
    return
  }
  const absent = word?.split(",") ?? []
  const call: JsonDraft = { id: part.id, type: "function", ...calledMember(part, encodeContext) }
  for (const name of ["id", "type"]) if (absent.includes(name)) delete call[name]
  const extraContent = part.sealed && maySendSeal(part.sealed, encodeContext) ? openCall(part.sealed) : undefined
  if (extraContent) call.extra_content = extraContent
  else if (part.sealed) losses.push(dropped.hint(memberPath(at, "sealed"), "a seal is returned only to its minter"))
  addCall(called, restorePassthrough(call, part.extra, { at, losses }))
}

function calledMember(part: ToolCallPart, { own }: ChatEncodeContext): JsonDraft {
  const { name, arguments: args, extra } = part
  const absent = writingOf(extra).word?.split(",") ?? []
  if (!own) {
    // Tools with text input are functions of one string there.
    const text = part.input === "text" ? JSON.stringify({ input: args }) : args === "" ? "{}" : args
    return { function: { name, arguments: text } }
  }
  if (part.input === "text") {
    return { type: "custom", custom: { name, ...(!absent.includes("input") && { input: args }) } }
  }
  return { function: { name, ...(!absent.includes("arguments") && { arguments: args }) } }
}

function addCall(called: JsonDraft, call: Json): void {
  called.tool_calls = [...((called.tool_calls as Json[]) ?? []), call]
}
