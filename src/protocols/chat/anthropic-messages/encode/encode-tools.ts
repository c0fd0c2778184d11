// Encodes tools and the choice among them. Another provider's hosted tool maps to the vendor's equivalent, if there is
// one.

import type {
  ChatRequest,
  CustomTool,
  FunctionTool,
  HostedTool,
  RemoteServer,
  ToolChoice,
  ToolDefinition,
} from "../../../../canonical/chat/chat-request.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import { TEXT_INPUT } from "../../../schema/tool-input.ts"
import { strictSchema, toolSchema } from "../../../schema/tool-schema.ts"
import { hostedSettings } from "../../hosted-tool-settings.ts"
import { ownMembers, PROTOCOL } from "../passthrough-fields.ts"
import { listEntry } from "../remote-servers.ts"
import type { AnthropicEncodeContext } from "./encode-context.ts"
import { cacheControl } from "./encode-part.ts"

type AnthropicToolRequest = Pick<ChatRequest, "tools" | "toolChoice" | "settings">

export function encodeTools(
  { tools, toolChoice, settings }: AnthropicToolRequest,
  encodeContext: AnthropicEncodeContext,
): JsonObject {
  const names = new Map<string, string>()
  const allowed = toolChoice?.mode === "some" ? allowedToolFilter(toolChoice, encodeContext) : () => true
  const encoded = tools.flatMap((tool) => {
    if (!allowed(tool)) return []
    const wire = encodeTool(tool, encodeContext)
    if (wire) names.set(tool.name, typeof wire.name === "string" ? wire.name : tool.name)
    return wire ? [wire] : []
  })
  const choice = encodeChoice({ toolChoice, names, parallel: settings.parallelToolCalls }, encodeContext)
  const given = encoded.length > 0 || (encodeContext.own && tools.some(({ at }) => !at?.startsWith("mcp_servers")))
  const servers = tools.flatMap((tool) => (isForeignServer(tool) && allowed(tool) ? [listEntry(tool.server)] : []))
  return {
    ...(servers.length > 0 && { mcp_servers: servers }),
    ...(given && { tools: encoded }),
    ...(choice && { tool_choice: choice }),
  }
}

/** True if it is a remote server from another protocol. */
function isForeignServer(tool: ToolDefinition): tool is HostedTool & { readonly server: RemoteServer } {
  return tool.kind === "hosted" && tool.protocol !== PROTOCOL && tool.server !== undefined
}

function allowedToolFilter(
  { names }: { names: readonly string[] },
  { losses }: AnthropicEncodeContext,
): (tool: ToolDefinition) => boolean {
  losses.push(
    approximated.hint("toolChoice", "tools that may not be called are left out, which can miss the prompt cache"),
  )
  return ({ name }) => names.includes(name)
}

function encodeTool(tool: ToolDefinition, encodeContext: AnthropicEncodeContext): JsonObject | undefined {
  if (tool.kind === "hosted") return encodeHosted(tool, encodeContext)
  const members = ownMembers(tool.extra, { at: tool.at ?? "tools", losses: encodeContext.losses })
  const wire = tool.kind === "function" ? encodeFunction(tool, encodeContext) : encodeCustom(tool, encodeContext)
  return { ...wire, ...(tool.cacheMark && { cache_control: cacheControl(tool.cacheMark) }), ...members }
}

function encodeFunction(tool: FunctionTool, encodeContext: AnthropicEncodeContext): JsonObject {
  const { name, description, parameters, strict } = tool
  const described = description !== undefined && { description }
  if (encodeContext.own) {
    return { name, ...described, input_schema: parameters ?? {}, ...(strict !== undefined && { strict }) }
  }
  const report = (path: string, keyword: string) => {
    const why = `the vendor does not enforce \`${keyword}\` in tool input`
    encodeContext.losses.push(approximated.meaning(`${memberPath(tool.at, "parameters")}${path}.${keyword}`, why))
  }
  const schema = toolSchema(parameters, report)
  return strict
    ? { name, ...described, input_schema: strictSchema(schema, { report }), strict: true }
    : { name, ...described, input_schema: schema }
}

function encodeCustom({ name, description, format, at }: CustomTool, { losses }: AnthropicEncodeContext): JsonObject {
  if (format !== undefined) {
    losses.push(
      dropped.meaning(memberPath(at, "format"), "a plain-text tool becomes a function with one string parameter"),
    )
  }
  const input_schema = { type: "object", properties: { [TEXT_INPUT]: { type: "string" } }, required: [TEXT_INPUT] }
  return { name, ...(description !== undefined && { description }), input_schema }
}

const COUNTERPARTS: Readonly<Partial<Record<HostedTool["purpose"], JsonObject>>> = {
  "web-search": { type: "web_search_20250305", name: "web_search" },
  "web-fetch": { type: "web_fetch_20250910", name: "web_fetch" },
  code: { type: "code_execution_20250825", name: "code_execution" },
}

function encodeHosted(tool: HostedTool, { losses }: AnthropicEncodeContext): JsonObject | undefined {
  const { protocol, value, purpose, at, extra, cacheMark } = tool
  // A server without a toolset is not a tool here.
  if (protocol === PROTOCOL) return value === null ? undefined : (value as JsonObject)
  const path = at ?? "tools"
  ownMembers(extra, { at: path, losses })
  // A server from another protocol goes to `mcp_servers`.
  if (tool.server) return undefined
  const counterpart = COUNTERPARTS[purpose]
  if (!counterpart) {
    losses.push(dropped.meaning(path, "this model's provider has no equivalent tool"))
    return undefined
  }
  const known = purpose === "web-search" ? searchOptions(value) : {}
  const others = Object.keys(hostedSettings(tool)).filter((name) => !(name in known))
  for (const name of others) {
    losses.push(
      approximated.hint(memberPath(path, name), "the provider's equivalent tool is used with its default settings"),
    )
  }
  return { ...counterpart, ...known, ...(cacheMark && { cache_control: cacheControl(cacheMark) }) }
}

/** The user's location, which has the same shape at OpenAI; chat completions nests it one level deeper. */
function searchOptions(value: Json): JsonObject {
  const location = isObject(value) ? value.user_location : undefined
  if (!isObject(location) || location.type !== "approximate") return {}
  const { approximate, ...flat } = location
  return { user_location: isObject(approximate) ? { ...flat, ...approximate } : flat }
}

interface ToolChoiceInput {
  readonly toolChoice: ToolChoice | undefined
  /** The encoded name of each tool that is sent. */
  readonly names: ReadonlyMap<string, string>
  readonly parallel: boolean | undefined
}

function encodeChoice(
  { toolChoice, names, parallel }: ToolChoiceInput,
  encodeContext: AnthropicEncodeContext,
): JsonObject | undefined {
  const lone = parallel === undefined ? {} : { disable_parallel_tool_use: !parallel }
  if (encodeContext.own)
    return toolChoice && { ...choiceOf(toolChoice, names), ...(toolChoice.mode !== "none" && lone) }
  if (toolChoice && isForced(toolChoice)) mustHave(toolChoice, names)
  if (names.size === 0) return undefined
  const choice = toolChoice && choiceOf(toolChoice, names)
  if (parallel !== false || choice?.type === "none") return choice
  return { ...(choice ?? { type: "auto" }), ...lone }
}

/** True if any tool must be called. */
export function isForced(choice: ToolChoice): boolean {
  return choice.mode === "required" || choice.mode === "tool" || (choice.mode === "some" && choice.required)
}

function mustHave(choice: ToolChoice, names: ReadonlyMap<string, string>): void {
  if (choice.mode === "tool" ? names.has(choice.name) : names.size > 0) return
  const which = choice.mode === "tool" ? "the tool" : "one of the tools"
  const message = `\`tool_choice\` demands ${which}, which this model's provider cannot run. Choose another tool or model.`
  throw new GatewayError("unsupported_parameter", message, { param: "tool_choice" })
}

function choiceOf(choice: ToolChoice, names: ReadonlyMap<string, string>): JsonObject {
  if (choice.mode === "tool") return { type: "tool", name: names.get(choice.name) ?? choice.name }
  if (choice.mode === "required") return { type: "any" }
  if (choice.mode !== "some") return { type: choice.mode }
  const [only] = choice.names
  if (choice.required && choice.names.length === 1 && only !== undefined) {
    return { type: "tool", name: names.get(only) ?? only }
  }
  return { type: choice.required ? "any" : "auto" }
}
