// Tools as `toolConfig`. Where tools were called before, it must be there, whatever is offered now.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { ChatRequest, CustomTool, FunctionTool, HostedTool, Tool, ToolChoice } from "../../canonical/request.ts"
import { hostedSettings } from "../hosted-settings.ts"
import { approximated, dropped, member } from "../losses.ts"
import { TEXT_INPUT } from "../tool-input.ts"
import { type Report, strictSchema, toolSchema } from "../tool-schema.ts"
import { cachePoint } from "./cache-points.ts"
import { encodeChoice } from "./encode-choice.ts"
import { reportExtra } from "./own.ts"
import type { Writing } from "./writing.ts"

export interface EncodedTools {
  readonly toolConfig?: JsonObject
  readonly instruction?: string
}

interface Around {
  /** The tool whose input is the answer, where one has to be of a form. */
  readonly answer: JsonObject | undefined
  /** The tools that were called before, by name; undefined where nothing of tools was said. */
  readonly called: readonly string[] | undefined
  readonly writing: Writing
}

export function encodeTools(request: ChatRequest, { answer, called, writing }: Around): EncodedTools {
  const { toolChoice, settings } = request
  const names: string[] = []
  const tools = offeredTools(request, { answer, called, writing }).flatMap((tool) => {
    const wire = encodeTool(tool, writing)
    if (wire.length > 0 && tool.kind !== "hosted") names.push(tool.name)
    return wire
  })
  if (settings.parallelToolCalls === false && tools.length > 0) {
    writing.losses.push(dropped.meaning("parallelToolCalls", "the model may call several tools at once"))
  }
  const { toolChoice: choice, instruction } = encodeChoice(toolChoice, { names, answer: answer !== undefined }, writing)
  if (answer) tools.push(answer)
  if (tools.length === 0 && called && called.length > 0) tools.push(...declared(called, writing))
  if (tools.length === 0) return {}
  return {
    toolConfig: { tools, ...(choice && { toolChoice: choice }) },
    ...(instruction !== undefined && { instruction }),
  }
}

/** What may not be called is not offered, where that says the same as the choice. Prompt caches notice. */
function offeredTools({ tools, toolChoice }: ChatRequest, { answer, called, writing }: Around): readonly Tool[] {
  const kept = allowed(tools, { toolChoice, forces: writing.family.forces, mayBeNone: answer !== undefined || !called })
  for (const tool of tools) {
    if (kept.includes(tool)) continue
    writing.losses.push(dropped.hint(tool.at ?? "tools", "it may not be called, so it is not offered"))
  }
  return kept
}

interface Allowing {
  readonly toolChoice: ToolChoice | undefined
  readonly forces: boolean
  readonly mayBeNone: boolean
}

function allowed(tools: readonly Tool[], { toolChoice, forces, mayBeNone }: Allowing): readonly Tool[] {
  if (toolChoice?.mode === "some") return tools.filter(({ name }) => toolChoice.names.includes(name))
  if (toolChoice?.mode === "tool" && !forces) return tools.filter(({ name }) => name === toolChoice.name)
  return toolChoice?.mode === "none" && mayBeNone ? [] : tools
}

/** Nothing is known of them but their names. */
function declared(called: readonly string[], { losses }: Writing): JsonObject[] {
  const why = "tools that were called before must be declared, and may be called again"
  losses.push(approximated.meaning("tools", why))
  return called.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: "object" } } } }))
}

function encodeTool(tool: Tool, writing: Writing): JsonObject[] {
  const at = tool.at ?? "tools"
  reportExtra(tool.extra, { at, losses: writing.losses })
  const wire =
    tool.kind === "hosted"
      ? encodeHosted(tool, writing)
      : { toolSpec: tool.kind === "function" ? encodeFunction(tool, writing) : encodeCustom(tool, writing) }
  if (!wire) return []
  const point = tool.cacheMark && toolPoint(tool, { at, writing })
  return point ? [wire, point] : [wire]
}

function toolPoint(
  { cacheMark = {} }: Tool,
  { at, writing }: { at: string; writing: Writing },
): JsonObject | undefined {
  if (writing.family.caches?.tools !== false) return cachePoint(cacheMark, { at, writing })
  writing.losses.push(dropped.hint(`${at}.cache_control`, "the model keeps no tools"))
  return undefined
}

function encodeFunction(tool: FunctionTool, { family, losses }: Writing): JsonObject {
  const { name, description, parameters, at } = tool
  const strict = tool.strict === true && family.format === "config"
  if (tool.strict === true && !strict) {
    losses.push(dropped.hint(member(at, "strict"), "the model is not held to a tool's schema"))
  }
  const report: Report = (path, keyword) => {
    const why = `the vendor does not hold a tool's input to \`${keyword}\``
    losses.push(approximated.meaning(`${member(at, "parameters")}${path}.${keyword}`, why))
  }
  const schema: Json = toolSchema(parameters, report)
  return {
    name,
    ...(description !== undefined && description !== "" && { description }),
    inputSchema: { json: strict ? strictSchema(schema, { report }) : schema },
    ...(strict && { strict }),
  }
}

function encodeCustom({ name, description, format, at }: CustomTool, { losses }: Writing): JsonObject {
  const weight = isObject(format) && format.type !== "text" ? "meaning" : "hint"
  losses.push(approximated[weight](at ?? "tools", "a tool of plain text becomes a function of one string"))
  const json = { type: "object", properties: { [TEXT_INPUT]: { type: "string" } }, required: [TEXT_INPUT] }
  return { name, ...(description !== undefined && description !== "" && { description }), inputSchema: { json } }
}

function encodeHosted(tool: HostedTool, { family, losses }: Writing): JsonObject | undefined {
  const { does, at = "tools" } = tool
  const name = family.systemTools?.[does]
  if (name === undefined) {
    losses.push(dropped.meaning(at, "this model's provider has no tool that does the same"))
    return undefined
  }
  for (const each of Object.keys(hostedSettings(tool))) {
    losses.push(approximated.hint(member(at, each), "the provider's own tool of this kind is used as it is"))
  }
  return { systemTool: { name } }
}
