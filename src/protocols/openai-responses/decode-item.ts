// An item of a request's input as a turn. Items that only this protocol understands are turns of one foreign part.
import type { JsonObject } from "../../canonical/json.ts"
import type { Part, ToolCallPart } from "../../canonical/part.ts"
import type { Turn } from "../../canonical/request.ts"
import { openSeal, type Sealed } from "../../canonical/sealed.ts"
import { Fields, object, text } from "../openai-fields.ts"
import { decodeContent } from "./decode-content.ts"
import { callIn, ranIn } from "./decode-output.ts"
import { LOCAL_SHELL } from "./local-shell.ts"
import { flatName } from "./namespaces.ts"
import { ownExtra, PROTOCOL, type Written } from "./own.ts"
import { BETWEEN_THOUGHTS, sealReasoning, textsOf } from "./seals.ts"

export function decodeItem(item: JsonObject, at: string): Turn {
  const type = item.type ?? "message"
  const decode = typeof type === "string" && Object.hasOwn(ITEMS, type) ? ITEMS[type] : undefined
  return decode?.(new Fields(item), at) ?? foreignTurn(item, at)
}

function foreignTurn(item: JsonObject, at: string): Turn {
  const isOutput = typeof item.type === "string" && item.type.endsWith("_output")
  const extra = ownExtra({}, { item: "other" })
  const part: Part = { kind: "foreign", at, protocol: PROTOCOL, value: item }
  return { at, role: isOutput ? "user" : "assistant", parts: [part], ...(extra && { extra }) }
}

type Decode = (fields: Fields, at: string) => Turn | undefined

const ITEMS: Readonly<Record<string, Decode | undefined>> = {
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

/** Names that the vendor gives its items, and how far they had come: of no use elsewhere. */
function plainMembers(fields: Fields, names: readonly string[]): JsonObject | undefined {
  const taken = names.flatMap((name) => {
    const value = fields.take(name, text)
    return value === undefined ? [] : [[name, value] as const]
  })
  return taken.length > 0 ? Object.fromEntries(taken) : undefined
}

function decodeMessage(fields: Fields, at: string): Turn | undefined {
  const plain = plainMembers(fields, ["type", "id", "status"])
  const role = fields.take("role", text)
  const word = role === "assistant" ? "output_text" : "input_text"
  const content = fields.take("content", (value) => decodeContent(value, { at: `${at}.content`, word }))
  if (!content) return undefined
  const isInstruction = role === "system" || role === "developer"
  const written: Written = {
    ...content.written,
    item: "message",
    ...(plain && { plain }),
    ...(isInstruction && { word: role }),
  }
  const extra = ownExtra(fields.rest(), written)
  const who = isInstruction ? "instruction" : role === "assistant" ? "assistant" : "user"
  return { at, role: who, parts: content.parts, ...(extra && { extra }) }
}

function decodeCall(fields: Fields, { at, member }: { at: string; member: "arguments" | "input" }): Turn | undefined {
  fields.take("type", text)
  const id = fields.take("call_id", text)
  const name = fields.take("name", text)
  const said = fields.take(member, text)
  const set = fields.take("namespace", text)
  const plain = plainMembers(fields, ["id", "status"])
  if (id === undefined || name === undefined || said === undefined) return undefined
  const namespace = set === undefined ? undefined : { name: set, inner: name }
  const extra = ownExtra(fields.rest(), { ...(plain && { plain }), ...(namespace && { namespace }) })
  const call: ToolCallPart = {
    kind: "tool-call",
    at,
    id,
    name: set === undefined ? name : flatName(set, name),
    arguments: said,
    ...(member === "input" && { input: "text" }),
    runsAt: "client",
    ...(extra && { extra }),
  }
  return { at, role: "assistant", parts: [call] }
}

function decodeShellCall(fields: Fields, at: string): Turn | undefined {
  fields.take("type", text)
  const id = fields.take("call_id", text)
  const action = fields.take("action", object)
  const plain = plainMembers(fields, ["id", "status"])
  if (id === undefined || !action) return undefined
  const extra = ownExtra(fields.rest(), { as: action, ...(plain && { plain }) })
  const { type: _, ...said } = action
  const call: Part = {
    kind: "tool-call",
    at,
    id,
    name: LOCAL_SHELL,
    arguments: JSON.stringify(said),
    runsAt: "client",
    ...(extra && { extra }),
  }
  return { at, role: "assistant", parts: [call] }
}

function decodeOutput(fields: Fields, { at, item }: { at: string; item?: Written["item"] }): Turn | undefined {
  fields.take("type", text)
  const isShell = item === "local_shell_call_output"
  const called = fields.take("call_id", text)
  const plain = plainMembers(fields, ["id", "status"])
  // The id of a shell's output is that of the call, where nothing else is.
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

/** A call of a remote server's tool is one item with what came of it; back it goes as it came. */
function decodeRemoteCall({ object: item }: Fields, at: string): Turn | undefined {
  const { id, name, arguments: said, server_label: server } = item
  const call = callIn(item)
  const isWhole = [id, name, said, server].every((each) => typeof each === "string")
  if (!call || !isWhole || typeof said !== "string") return undefined
  const extra = ownExtra({}, { as: item })
  const { result } = ranIn(item, call)
  if (result?.kind !== "tool-result") return undefined
  const parts: Part[] = [
    { ...call, at, arguments: said, ...(extra && { extra }) },
    { ...result, at, ...(extra && { extra }) },
  ]
  return { at, role: "assistant", parts }
}

/** An item whose seal is one of ours is what its seal says; any other goes back as it came. */
function decodeReasoning(fields: Fields, at: string): Turn {
  const summary = textsOf(fields.peek("summary", (value) => value))
  const content = textsOf(fields.peek("content", (value) => value))
  const slot = fields.peek("encrypted_content", text)
  const opened = slot === undefined ? undefined : openSeal(slot)
  const texts = content.length > 0 ? content : summary
  const sealed = opened ?? ownSeal(fields)
  const extra = opened ? undefined : ownExtra({}, { as: fields.object })
  const said = texts.join(BETWEEN_THOUGHTS)
  const form = said === "" ? "hidden" : content.length > 0 ? "full" : "summary"
  const part: Part = {
    kind: "reasoning",
    at,
    form,
    text: said,
    ...(sealed && { sealed }),
    ...(extra && { extra }),
  }
  return { at, role: "assistant", parts: [part] }
}

function ownSeal(fields: Fields): Sealed | undefined {
  return sealReasoning(fields.object, PROTOCOL)
}
