// An assistant's turn as one message: its reasoning, what it said, and the tools it called.
import type { Json } from "../../canonical/json.ts"
import type { Part, ReasoningPart, ToolCallPart } from "../../canonical/part.ts"
import type { Turn } from "../../canonical/request.ts"
import { type Draft, dropped, member } from "../openai-fields.ts"
import { encodeContent } from "./encode-part.ts"
import { PROTOCOL, putBack, writtenIn } from "./own.ts"
import { mayReturn, type Saying } from "./saying.ts"
import { openCall, openReasoning, type ReasoningSeal } from "./seals.ts"

/** Undefined where nothing of it can be said: a message without content is refused. */
export function encodeAssistant(turn: Turn, saying: Saying): Json | undefined {
  const { content: form, plain } = writtenIn(turn.extra)
  const thought: Draft = {}
  const called: Draft = {}
  const spoken: Part[] = []
  for (const each of turn.parts) {
    const part = each.at === undefined ? { ...each, at: turn.at ?? "" } : each
    if (part.kind === "reasoning") spoken.push(...thinkingPart(part, thought, saying))
    else if (part.kind === "tool-call") writeCall(part, called, saying)
    else if (part.kind === "refusal" && !writtenIn(part.extra).content)
      called.refusal = `${called.refusal ?? ""}${part.text}`
    else if (part.kind === "foreign" && writtenIn(part.extra).word === "tool_calls") addCall(called, part.value)
    else if (part.kind === "media" && !saying.own) lose(part, saying, "an assistant's message cannot hold media here")
    else if (part.kind === "tool-result")
      lose(part, saying, "chat completions knows no results of tools that ran there")
    else spoken.push(part)
  }
  const draft: Draft = { role: "assistant" }
  if (spoken.length > 0 || form) draft.content = encodeContent(spoken, saying, { content: form, between: "" })
  else if (!saying.own && Object.keys(called).length > 0) draft.content = null
  else if (!saying.own && Object.keys(thought).length > 0) draft.content = ""
  const isEmpty = !saying.own && draft.content === undefined
  Object.assign(draft, thought, called, plain)
  const message = putBack(draft, turn.extra, { at: turn.at ?? "", losses: saying.context.losses })
  return isEmpty ? undefined : message
}

function lose(part: Part, { context }: Saying, why: string): void {
  context.losses.push(dropped(part.at ?? "", "meaning", why))
}

/** Puts reasoning into the member its host wants it in; the part of a content, for hosts that want it there. */
function thinkingPart(part: ReasoningPart, thought: Draft, saying: Saying): readonly Part[] {
  const { as, word } = writtenIn(part.extra)
  if (as !== undefined) return [part]
  const seal = sealOf(part, { word, saying })
  if (!seal) {
    const why = "reasoning goes back only to the provider it came from"
    saying.context.losses.push(dropped(part.at ?? "", "hint", why))
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
  { word, saying }: { word: string | undefined; saying: Saying },
): ReasoningSeal | undefined {
  if (sealed) return mayReturn(sealed, saying) ? openReasoning(sealed) : undefined
  return saying.own ? { member: word ?? "reasoning_content" } : undefined
}

function writeCall(part: ToolCallPart, called: Draft, saying: Saying): void {
  const { losses } = saying.context
  const at = part.at ?? ""
  if (part.runsAt === "provider") {
    lose(part, saying, "chat completions knows no calls of tools that ran there")
    return
  }
  const { legacy, word } = writtenIn(part.extra)
  if (legacy) {
    called.function_call = { name: part.name, arguments: part.arguments }
    return
  }
  const absent = word?.split(",") ?? []
  const call: Draft = { id: part.id, type: "function", ...calledMember(part, saying) }
  for (const name of ["id", "type"]) if (absent.includes(name)) delete call[name]
  const extraContent = part.sealed && mayReturn(part.sealed, saying) ? openCall(part.sealed) : undefined
  if (extraContent) call.extra_content = extraContent
  else if (part.sealed) losses.push(dropped(member(at, "sealed"), "hint", "a seal goes back only to who made it"))
  addCall(called, putBack(call, part.extra, { at, losses }))
}

function calledMember(part: ToolCallPart, { own }: Saying): Draft {
  const { name, arguments: said, extra } = part
  const absent = writtenIn(extra).word?.split(",") ?? []
  if (!own) {
    // Tools whose input is text are functions of one string there.
    const text = part.input === "text" ? JSON.stringify({ input: said }) : said === "" ? "{}" : said
    return { function: { name, arguments: text } }
  }
  if (part.input === "text") {
    return { type: "custom", custom: { name, ...(!absent.includes("input") && { input: said }) } }
  }
  return { function: { name, ...(!absent.includes("arguments") && { arguments: said }) } }
}

function addCall(called: Draft, call: Json): void {
  called.tool_calls = [...((called.tool_calls as Json[]) ?? []), call]
}
