// Instructions and turns as items of the input: messages, reasoning, calls and their outputs, each an item by itself.

import type { ChatRequest, ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ToolCallPart, ToolResultPart } from "../../../../canonical/chat/content-part.ts"
import type { Json } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import { type JsonDraft, joinMembers } from "../../../openai/field-reader.ts"
import { isOwn, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import { serverLabel } from "../tools/remote-servers.ts"
import type { ResponsesEncodeContext } from "./encode-context.ts"
import { encodeContent } from "./encode-part.ts"
import { encodeReasoning, endHeldReasoning, type HeldReasoning } from "./encode-reasoning-part.ts"

const PARAGRAPH = "\n\n"

interface EncodedInstructions {
  /** The member `instructions`. */
  readonly instructions?: string
  /** Instructions at the beginning of the input. */
  readonly items: readonly Json[]
}

export function encodeInstructions(
  { instructions }: ChatRequest,
  encodeContext: ResponsesEncodeContext,
): EncodedInstructions {
  const items = groupInstructionMessages(instructions).map((parts) => encodeOpening(parts, encodeContext))
  const others = instructions.filter((part) => !isOpened(part, instructions))
  const texts = others.flatMap((part) => (part.kind === "text" ? [part] : []))
  // Text instructions from other protocols go to `instructions`; images among them go to a developer message.
  const more = others.filter(({ kind }) => kind !== "text")
  if (!encodeContext.own) for (const part of texts) reportPartExtras(part, encodeContext)
  if (more.length > 0) items.push(messageItem({ role: "developer", parts: more }, encodeContext))
  return { ...(texts.length > 0 && { instructions: texts.map(({ text }) => text).join(PARAGRAPH) }), items }
}

/** Reports cache marks and passthrough fields from other protocols. */
function reportPartExtras(part: ContentPart, encodeContext: ResponsesEncodeContext): void {
  encodeContent([part], encodeContext, { word: "input_text" })
}

/** The parts of each original instruction message. */
function groupInstructionMessages(instructions: readonly ContentPart[]): ContentPart[][] {
  const groups: ContentPart[][] = []
  for (const part of instructions) {
    const group = groups.at(-1)
    if (writingOf(part.extra).opens) groups.push([part])
    else group?.push(part)
  }
  return groups
}

function isOpened(part: ContentPart, instructions: readonly ContentPart[]): boolean {
  const first = instructions.findIndex(({ extra }) => writingOf(extra).opens)
  return first >= 0 && instructions.indexOf(part) >= first
}

function encodeOpening(parts: readonly ContentPart[], encodeContext: ResponsesEncodeContext): Json {
  const extra = parts[0]?.extra
  const { opens } = writingOf(extra)
  const content = encodeContent(parts, encodeContext, { content: opens?.content, word: "input_text" })
  const names = opens?.members ?? []
  const members = Object.entries(extra?.members ?? {}).filter(([name]) => names.includes(name))
  return joinMembers({ ...opens?.plain, role: opens?.role ?? "developer", content }, Object.fromEntries(members))
}

interface InputContext {
  readonly opening: readonly Json[]
  readonly encodeContext: ResponsesEncodeContext
}

export function encodeInput(request: ChatRequest, { opening, encodeContext }: InputContext): Json {
  const { turns } = request
  const [first] = turns
  if (encodeContext.own && encodeContext.written.content && first && turns.length === 1) {
    return first.parts.map((part) => (part.kind === "text" ? part.text : "")).join("")
  }
  const writer = new ItemEncoder(encodeContext)
  for (const turn of turns) writer.add(turn)
  return [...opening, ...jsonInstruction(request, encodeContext), ...writer.items]
}

/**
 * JSON mode requires the word in the input; instructions do not count. Only the beginning of a conversation is
 * searched, so that the prefix stays the same as it continues.
 */
function jsonInstruction(
  { settings, turns }: ChatRequest,
  { own, context: { losses } }: ResponsesEncodeContext,
): Json[] {
  const [first] = turns
  const mentionsJson = first?.parts.some((part) => part.kind === "text" && /json/i.test(part.text))
  if (own || settings.format?.kind !== "json" || mentionsJson) return []
  losses.push(approximated.hint("format", "JSON mode requires the word JSON in the prompt: an instruction was added"))
  return [{ type: "message", role: "developer", content: [{ type: "input_text", text: "Answer in JSON." }] }]
}

const ROLES = { instruction: "developer", user: "user", assistant: "assistant" } as const

function messageItem(
  turn: ConversationTurn | { role: "developer"; parts: readonly ContentPart[] },
  encodeContext: ResponsesEncodeContext,
): JsonDraft {
  const role = turn.role === "developer" ? turn.role : ROLES[turn.role]
  const content = encodeContent(turn.parts, encodeContext, {
    word: role === "assistant" ? "output_text" : "input_text",
  })
  return { type: "message", role, content }
}

class ItemEncoder {
  readonly items: Json[] = []
  /** Content of the current message. */
  private contentParts: ContentPart[] = []
  private readonly thoughts: HeldReasoning = { held: undefined }
  /** Calls with text input, whose outputs have their own type. */
  private readonly textCalls = new Set<string>()

  /** Calls of remote servers' tools, which are items together with their results. */
  private readonly remoteCalls = new Map<string, ToolCallPart>()

  constructor(private readonly encodeContext: ResponsesEncodeContext) {}

  add(turn: ConversationTurn): void {
    const { item } = writingOf(turn.extra)
    const place = { at: turn.at ?? "", losses: this.encodeContext.context.losses }
    if (item === "message") {
      this.items.push(restorePassthrough(this.ownMessage(turn), turn.extra, place))
      return
    }
    for (const each of turn.parts) {
      const part = each.at === undefined ? { ...each, at: place.at } : each
      this.addPart(part, turn)
    }
    this.flush(turn)
    endHeldReasoning(this.thoughts, this.encodeContext)
    if (!isOwn(turn.extra)) restorePassthrough({}, turn.extra, place)
  }

  private ownMessage({ role, parts, extra }: ConversationTurn): JsonDraft {
    const { content, plain, word } = writingOf(extra)
    const texts = role === "assistant" ? "output_text" : "input_text"
    const encoded = encodeContent(parts, this.encodeContext, { ...(content && { content }), word: texts })
    return { ...plain, role: role === "instruction" ? (word ?? "developer") : role, content: encoded }
  }

  private addPart(part: ContentPart, turn: ConversationTurn): void {
    const isItem = part.kind === "foreign" && writingOf(turn.extra).item === "other"
    const isContent =
      part.kind === "text" || part.kind === "refusal" || part.kind === "media" || part.kind === "foreign"
    if (isContent && !isItem) {
      if (part.kind === "media" && turn.role === "assistant")
        this.lose(part, "an assistant message cannot contain media in the responses interface")
      else this.contentParts.push(part)
      return
    }
    this.flush(turn)
    if (part.kind === "foreign") this.items.push(part.value)
    else if (part.kind === "tool-call") this.call(part)
    else if (part.kind === "tool-result") this.result(part)
    else if (part.kind === "reasoning") this.items.push(...encodeReasoning(part, this.thoughts, this.encodeContext))
  }

  /** Writes the collected content as a message, if any of it can be expressed. */
  private flush(turn: ConversationTurn): void {
    const { contentParts } = this
    if (contentParts.length === 0) return
    this.contentParts = []
    const item = messageItem({ ...turn, parts: contentParts }, this.encodeContext)
    if (item.content !== "" || contentParts.some((part) => part.kind === "text")) this.items.push(item)
  }

  private lose(part: ContentPart, why: string): void {
    this.encodeContext.context.losses.push(dropped.meaning(part.at ?? "", why))
  }

  private call(part: ToolCallPart): void {
    const { losses } = this.encodeContext.context
    const at = part.at ?? ""
    if (part.runsAt === "provider") {
      if (part.server === undefined) this.lose(part, "another provider ran this tool")
      else this.remoteCalls.set(part.id, part)
      return
    }
    if (part.sealed) losses.push(dropped.hint(memberPath(at, "sealed"), "a seal is returned only to its minter"))
    const { as, plain, namespace } = writingOf(part.extra)
    const named = namespace ? { name: namespace.inner, namespace: namespace.name } : { name: part.name }
    if (part.input === "text") this.textCalls.add(part.id)
    const item: JsonDraft =
      as !== undefined
        ? { type: "local_shell_call", call_id: part.id, action: as }
        : part.input === "text"
          ? { type: "custom_tool_call", call_id: part.id, ...named, input: part.arguments }
          : { type: "function_call", call_id: part.id, ...named, arguments: this.argumentsOf(part) }
    this.items.push(restorePassthrough({ ...item, ...plain }, part.extra, { at, losses }))
  }

  private argumentsOf({ arguments: args }: ToolCallPart): string {
    return args === "" && !this.encodeContext.own ? "{}" : args
  }

  private result(part: ToolResultPart): void {
    const { losses } = this.encodeContext.context
    const at = part.at ?? ""
    const [found] = part.parts
    if (part.isRemote) {
      this.items.push(remoteCall(part, this.remoteCalls.get(part.callId)))
      return
    }
    if (found?.kind === "foreign" && part.name !== undefined && !this.encodeContext.own) {
      this.lose(part, "another provider ran this tool")
      return
    }
    const { item, plain, content, word } = writingOf(part.extra)
    const type = item ?? (this.textCalls.has(part.callId) ? "custom_tool_call_output" : "function_call_output")
    const encoded = encodeContent(part.parts, this.encodeContext, { ...(content && { content }), word: "input_text" })
    if (part.isError) losses.push(approximated.hint(at, "the text of the result says that the tool failed"))
    const output = part.isError ? markFailedOutput(encoded) : encoded
    const named = word === "id" ? {} : { call_id: part.callId }
    this.items.push(restorePassthrough({ type, ...named, output, ...plain }, part.extra, { at, losses }))
  }
}

/** The item of a remote server's call and its result; unchanged if it came in this protocol. */
function remoteCall({ callId, parts, isError, extra }: ToolResultPart, call: ToolCallPart | undefined): Json {
  const { as } = writingOf(extra)
  if (as !== undefined) return as
  const joined = parts.map((part) => (part.kind === "text" ? part.text : "")).join("")
  const outcome = isError ? { error: joined } : { output: joined }
  return {
    type: "mcp_call",
    id: `mcp_${callId.replace(/^(mcptoolu|mcp)_/, "")}`,
    server_label: serverLabel(call?.server ?? ""),
    name: call?.name ?? "",
    arguments: call?.arguments || "{}",
    ...outcome,
  }
}

const FAILED = "Error: "

function markFailedOutput(output: Json): Json {
  if (typeof output === "string") return FAILED + output
  return [{ type: "input_text", text: FAILED.trim() }, ...(Array.isArray(output) ? output : [])]
}
