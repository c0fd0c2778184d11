// Decodes calls among the output items: their arguments, and the results of calls that the provider ran. The result
// keeps the whole item, for clients of this protocol.

import type { MediaPart, ToolResultPart } from "../../../../canonical/chat/content-part.ts"
import type { PartStart } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { ownExtra, PROTOCOL } from "../passthrough-fields.ts"
import { LOCAL_SHELL } from "../tools/local-shell.ts"
import { flatName } from "../tools/tool-namespaces.ts"

type OutputCallStart = Extract<PartStart, { kind: "tool-call" }>

/**
 * The start of a call, for items that are calls: of the client's tools, or of tools that the provider runs.
 * `customTools` are the tools with text input that the request declares, if known: xAI reports its own searches as
 * calls of such tools.
 */
export function callIn(item: JsonObject, customTools?: ReadonlySet<string>): OutputCallStart | undefined {
  const { type, call_id, id, name, namespace, server_label } = item
  if (typeof type !== "string" || !type.endsWith("_call")) return undefined
  const isCustom = type === "custom_tool_call"
  const isShell = type === "local_shell_call"
  // xAI names the functions of its own tools.
  const isNamed = type === "function_call" || isCustom || type === "mcp_call"
  const inner = isShell ? LOCAL_SHELL : (isNamed && word(name)) || type
  const whole = typeof namespace === "string" && namespace !== "" ? flatName(namespace, inner) : inner
  const isDeclared = isCustom && (!customTools || customTools.has(whole))
  return {
    kind: "tool-call",
    id: word(call_id) || word(id),
    name: whole,
    ...((isCustom || type === "code_interpreter_call") && { input: "text" }),
    runsAt: type === "function_call" || isDeclared || isShell ? "client" : "provider",
    ...(type === "mcp_call" && { server: word(server_label) }),
  }
}

interface HostedRun {
  /** The call's arguments, as text. */
  readonly arguments: string
  readonly result?: ToolResultPart | MediaPart
}

export function hostedRunIn(item: JsonObject, call: OutputCallStart): HostedRun {
  if (call.runsAt === "provider")
    return { arguments: hostedArguments(item), result: pictureIn(item) ?? resultIn(item, call) }
  const { type } = item
  if (type === "function_call") return { arguments: word(item.arguments) }
  return { arguments: type === "custom_tool_call" ? word(item.input) : shellArguments(item.action) }
}

function shellArguments(action: Json | undefined): string {
  if (!isObject(action)) return ""
  const { type: _, ...args } = action
  return JSON.stringify(args)
}

function hostedArguments({ arguments: args, input, code, action, queries }: JsonObject): string {
  if (typeof args === "string") return args
  if (typeof input === "string") return input
  if (typeof code === "string") return code
  if (isObject(action)) return JSON.stringify(action)
  return Array.isArray(queries) ? JSON.stringify({ queries }) : ""
}

function resultIn(item: JsonObject, { id: callId, name }: OutputCallStart): ToolResultPart {
  const isError = item.status === "failed" || (item.error !== undefined && item.error !== null)
  const value = { kind: "foreign", protocol: PROTOCOL, value: item } as const
  const result = { kind: "tool-result", callId, name, isError } as const
  if (item.type !== "mcp_call") return { ...result, parts: [value] }
  const resultText = typeof item.output === "string" ? item.output : errorText(item.error)
  return { ...result, parts: [value, { kind: "text", text: resultText }], isRemote: true }
}

function errorText(error: Json | undefined): string {
  if (error === undefined || error === null) return ""
  return typeof error === "string" ? error : JSON.stringify(error)
}

function pictureIn(item: JsonObject): MediaPart | undefined {
  if (item.type !== "image_generation_call" || typeof item.result !== "string" || item.result === "") return undefined
  const { type: _, id: __, status: ___, result: base64, ...members } = item
  const format = typeof item.output_format === "string" ? item.output_format : "png"
  const extra = ownExtra(members)
  return {
    kind: "media",
    media: "image",
    source: { at: "inline", mediaType: `image/${format}`, base64 },
    ...(extra && { extra }),
  }
}

function word(value: Json | undefined): string {
  return typeof value === "string" ? value : ""
}
