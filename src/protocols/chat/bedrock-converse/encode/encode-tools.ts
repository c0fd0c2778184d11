// Encodes tools as `toolConfig`, which is required if the conversation has calls, even if no tool is offered now.

import type {
  ChatRequest,
  CustomTool,
  FunctionTool,
  HostedTool,
  ToolChoice,
  ToolDefinition,
} from "../../../../canonical/chat/chat-request.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import { TEXT_INPUT } from "../../../schema/tool-input.ts"
import { type KeywordReport, strictSchema, toolSchema } from "../../../schema/tool-schema.ts"
import { hostedSettings } from "../../hosted-tool-settings.ts"
import { ANSWER_TOOL } from "../answer-tool.ts"
import { reportForeignFields } from "../passthrough-fields.ts"
import { cachePoint } from "./encode-cache-points.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"

export interface ConverseTools {
  readonly toolConfig?: JsonObject
  readonly instruction?: string
}

interface ConverseToolContext {
  /** The tool whose input is the response, if a format requires one. */
  readonly answer: JsonObject | undefined
  /** Names of tools called earlier; undefined if the conversation has neither calls nor results. */
  readonly called: readonly string[] | undefined
  readonly encodeContext: BedrockEncodeContext
}

export function encodeTools(
  request: ChatRequest,
  { answer, called, encodeContext }: ConverseToolContext,
): ConverseTools {
  const { toolChoice, settings } = request
  const names: string[] = []
  const tools = offeredTools(request, { answer, called, encodeContext }).flatMap((tool) => {
    const wire = encodeTool(tool, encodeContext)
    if (wire.length > 0 && tool.kind !== "hosted") names.push(tool.name)
    return wire
  })
  if (settings.parallelToolCalls === false && tools.length > 0) {
    encodeContext.losses.push(dropped.meaning("parallelToolCalls", "the model may call several tools at once"))
  }
  const { toolChoice: choice, instruction } = encodeChoice(
    toolChoice,
    { names, answer: answer !== undefined },
    encodeContext,
  )
  if (answer) tools.push(answer)
  if (tools.length === 0 && called && called.length > 0) tools.push(...declareCalledTools(called, encodeContext))
  if (tools.length === 0) return {}
  return {
    toolConfig: { tools, ...(choice && { toolChoice: choice }) },
    ...(instruction !== undefined && { instruction }),
  }
}

/** Omits tools that may not be called if that has the same meaning as the choice. This changes the cached prompt. */
function offeredTools(
  { tools, toolChoice }: ChatRequest,
  { answer, called, encodeContext }: ConverseToolContext,
): readonly ToolDefinition[] {
  const kept = keepAllowedTools(tools, {
    toolChoice,
    forces: encodeContext.family.forces,
    mayBeNone: answer !== undefined || !called,
  })
  for (const tool of tools) {
    if (kept.includes(tool)) continue
    encodeContext.losses.push(dropped.hint(tool.at ?? "tools", "it may not be called, so it is not sent"))
  }
  return kept
}

interface AllowedToolInput {
  readonly toolChoice: ToolChoice | undefined
  readonly forces: boolean
  readonly mayBeNone: boolean
}

function keepAllowedTools(
  tools: readonly ToolDefinition[],
  { toolChoice, forces, mayBeNone }: AllowedToolInput,
): readonly ToolDefinition[] {
  if (toolChoice?.mode === "some") return tools.filter(({ name }) => toolChoice.names.includes(name))
  if (toolChoice?.mode === "tool" && !forces) return tools.filter(({ name }) => name === toolChoice.name)
  return toolChoice?.mode === "none" && mayBeNone ? [] : tools
}

/** Only the names of these tools are known. */
function declareCalledTools(called: readonly string[], { losses }: BedrockEncodeContext): JsonObject[] {
  const why = "tools that were called before must be declared, and may be called again"
  losses.push(approximated.meaning("tools", why))
  return called.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: "object" } } } }))
}

function encodeTool(tool: ToolDefinition, encodeContext: BedrockEncodeContext): JsonObject[] {
  const at = tool.at ?? "tools"
  reportForeignFields(tool.extra, { at, losses: encodeContext.losses })
  const wire =
    tool.kind === "hosted"
      ? encodeHosted(tool, encodeContext)
      : { toolSpec: tool.kind === "function" ? encodeFunction(tool, encodeContext) : encodeCustom(tool, encodeContext) }
  if (!wire) return []
  const point = tool.cacheMark && toolPoint(tool, { at, encodeContext })
  return point ? [wire, point] : [wire]
}

function toolPoint(
  { cacheMark = {} }: ToolDefinition,
  { at, encodeContext }: { at: string; encodeContext: BedrockEncodeContext },
): JsonObject | undefined {
  if (encodeContext.family.caches?.tools !== false) return cachePoint(cacheMark, { at, encodeContext })
  encodeContext.losses.push(dropped.hint(`${at}.cache_control`, "the model does not cache tools"))
  return undefined
}

function encodeFunction(tool: FunctionTool, { family, losses }: BedrockEncodeContext): JsonObject {
  const { name, description, parameters, at } = tool
  const strict = tool.strict === true && family.format === "config"
  if (tool.strict === true && !strict) {
    losses.push(dropped.hint(memberPath(at, "strict"), "the vendor does not enforce tool schemas"))
  }
  const report: KeywordReport = (path, keyword) => {
    const why = `the vendor does not enforce \`${keyword}\` in tool input`
    losses.push(approximated.meaning(`${memberPath(at, "parameters")}${path}.${keyword}`, why))
  }
  const schema: Json = toolSchema(parameters, report)
  return {
    name,
    ...(description !== undefined && description !== "" && { description }),
    inputSchema: { json: strict ? strictSchema(schema, { report }) : schema },
    ...(strict && { strict }),
  }
}

function encodeCustom({ name, description, format, at }: CustomTool, { losses }: BedrockEncodeContext): JsonObject {
  const weight = isObject(format) && format.type !== "text" ? "meaning" : "hint"
  losses.push(approximated[weight](at ?? "tools", "a plain-text tool becomes a function with one string parameter"))
  const json = { type: "object", properties: { [TEXT_INPUT]: { type: "string" } }, required: [TEXT_INPUT] }
  return { name, ...(description !== undefined && description !== "" && { description }), inputSchema: { json } }
}

function encodeHosted(tool: HostedTool, { family, losses }: BedrockEncodeContext): JsonObject | undefined {
  const { purpose, at = "tools" } = tool
  const name = family.systemTools?.[purpose]
  if (name === undefined) {
    losses.push(dropped.meaning(at, "this model's provider has no equivalent tool"))
    return undefined
  }
  for (const each of Object.keys(hostedSettings(tool))) {
    losses.push(
      approximated.hint(memberPath(at, each), "the provider's equivalent tool is used with its default settings"),
    )
  }
  return { systemTool: { name } }
}

/** True if any tool must be called. */
export function isForced(choice: ToolChoice): boolean {
  return choice.mode === "required" || choice.mode === "tool" || (choice.mode === "some" && choice.required)
}

interface ConverseToolChoice {
  readonly toolChoice?: JsonObject
  /** An instruction in the prompt, for choices that the interface cannot express. */
  readonly instruction?: string
}

interface OfferedTools {
  /** Names of the caller's tools that are sent. */
  readonly names: readonly string[]
  /** True if the answer tool is among them. */
  readonly answer: boolean
}

function encodeChoice(
  choice: ToolChoice | undefined,
  offered: OfferedTools,
  encodeContext: BedrockEncodeContext,
): ConverseToolChoice {
  const { names, answer } = offered
  if (choice && isForced(choice)) return encodeForced(choice, names, encodeContext)
  if (answer) return { toolChoice: names.length > 0 ? { any: {} } : { tool: { name: ANSWER_TOOL } } }
  if (choice?.mode !== "none" || names.length === 0) return {}
  const why = "tools that were called before must be declared; the prompt says that none may be called"
  encodeContext.losses.push(approximated.meaning("toolChoice", why))
  return { instruction: "Do not call any tool now." }
}

function encodeForced(
  choice: ToolChoice,
  names: readonly string[],
  { family, losses }: BedrockEncodeContext,
): ConverseToolChoice {
  const name = choice.mode === "tool" ? choice.name : undefined
  if (names.length === 0 || (name !== undefined && !names.includes(name))) throw unforceable()
  if (family.forces) return { toolChoice: name === undefined ? { any: {} } : { tool: { name } } }
  losses.push(approximated.meaning("toolChoice", "the model cannot be forced to call a tool; the prompt asks for it"))
  return { instruction: name === undefined ? "Call one of the tools now." : `Call the tool \`${name}\` now.` }
}

function unforceable(): GatewayError {
  const message =
    "`tool_choice` demands a tool that this model's provider cannot be forced to run. Choose another tool or model."
  return new GatewayError("unsupported_parameter", message, { param: "tool_choice" })
}
