// Encodes tools and the choice among them.

import type { ChatRequest, ToolChoice, ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { isStrict } from "../../../schema/strict-schema.ts"
import { PROTOCOL, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import { type ChatEncodeContext, unsupportedSetting, writeMark } from "./encode-context.ts"

export function encodeTools({ tools, toolChoice }: ChatRequest, encodeContext: ChatEncodeContext): JsonDraft {
  const draft: JsonDraft = {}
  const { legacy, plain } = encodeContext.written
  const listed: Json[] = []
  const sentKinds = new Map<string, ToolDefinition["kind"]>()
  for (const tool of tools) {
    if (tool.kind === "hosted" && tool.protocol === PROTOCOL && tool.at === "web_search_options") {
      draft.web_search_options = tool.value
      continue
    }
    const written = tool.kind === "hosted" ? encodeHosted(tool, encodeContext) : encodeTool(tool, encodeContext)
    if (written === undefined) continue
    listed.push(written)
    sentKinds.set(tool.name, encodeContext.own ? tool.kind : "function")
  }
  if (listed.length > 0 || plain?.tools) draft[legacy ? "functions" : "tools"] = listed
  const choice = toolChoice && encodeToolChoice(toolChoice, { sentKinds, encodeContext })
  if (choice !== undefined) draft[legacy ? "function_call" : "tool_choice"] = choice
  return draft
}

type HostedToolEntry = Extract<ToolDefinition, { kind: "hosted" }>

function encodeHosted(
  { protocol, value, at = "", purpose }: HostedToolEntry,
  { context }: ChatEncodeContext,
): Json | undefined {
  if (protocol === PROTOCOL) return value
  const what = purpose === "other" ? "such tool" : `tool for ${purpose}`
  context.losses.push(dropped.meaning(at, `chat completions has no provider-run ${what}`))
  return undefined
}

function encodeTool(tool: Exclude<ToolDefinition, HostedToolEntry>, encodeContext: ChatEncodeContext): Json {
  const { losses } = encodeContext.context
  const at = tool.at ?? ""
  const { word, plain } = writingOf(tool.extra)
  if (encodeContext.written.legacy)
    return restorePassthrough(functionOf(tool, encodeContext), tool.extra, { at, losses })
  const draft: JsonDraft = plain?.type === "none" ? {} : { type: "function" }
  if (tool.kind === "custom" && encodeContext.own) {
    draft.type = "custom"
    draft.custom = {
      name: tool.name,
      ...(tool.description !== undefined && { description: tool.description }),
      ...(tool.format !== undefined && { format: tool.format }),
    }
  } else draft.function = functionOf(tool, encodeContext)
  writeMark(draft, tool, { word, encodeContext })
  return restorePassthrough(draft, tool.extra, { at, losses })
}

const ONE_STRING: Json = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
}

function functionOf(tool: Exclude<ToolDefinition, HostedToolEntry>, { own, context }: ChatEncodeContext): JsonDraft {
  const named = { name: tool.name, ...(tool.description !== undefined && { description: tool.description }) }
  if (tool.kind === "custom") {
    // Only OpenAI's own host of chat completions knows tools with text input.
    const weight = isObject(tool.format) && tool.format.type !== "text" ? "meaning" : "hint"
    const why = "a plain-text tool becomes a function with one string parameter"
    context.losses.push(approximated[weight](tool.at ?? "", why))
    return { ...named, parameters: ONE_STRING }
  }
  const parameters = own ? tool.parameters : objectSchema(tool.parameters)
  const isHeld = own || !tool.strict || isStrict(parameters)
  if (!isHeld) {
    const why = "a schema with open members is not enforced"
    context.losses.push(approximated.meaning(memberPath(tool.at ?? "", "strict"), why))
  }
  return {
    ...named,
    ...(parameters !== undefined && { parameters }),
    ...(tool.strict !== undefined && { strict: tool.strict && isHeld }),
  }
}

/** A schema must state that it is an object. */
function objectSchema(schema: Json | undefined): Json | undefined {
  if (!isObject(schema) || schema.type !== undefined) return schema
  return { type: "object", ...(schema.properties === undefined && { properties: {} }), ...schema }
}

interface ToolChoiceContext {
  readonly sentKinds: ReadonlyMap<string, ToolDefinition["kind"]>
  readonly encodeContext: ChatEncodeContext
}

function encodeToolChoice(choice: ToolChoice, { sentKinds, encodeContext }: ToolChoiceContext): Json | undefined {
  const missing = (names: readonly string[]) => !encodeContext.own && !names.some((name) => sentKinds.has(name))
  if (choice.mode === "tool") {
    if (missing([choice.name])) throw missingForcedTool()
    return encodeContext.written.legacy ? { name: choice.name } : encodeToolName(choice.name, sentKinds)
  }
  if (choice.mode === "some") {
    if (choice.required && missing(choice.names)) throw missingForcedTool()
    const names = encodeContext.own ? choice.names : choice.names.filter((name) => sentKinds.has(name))
    if (names.length === 0) return sentKinds.size > 0 ? "none" : undefined
    const mode = choice.required ? "required" : "auto"
    return {
      type: "allowed_tools",
      allowed_tools: { mode, tools: names.map((name) => encodeToolName(name, sentKinds)) },
    }
  }
  // Without tools, a tool choice is refused.
  if (!encodeContext.own && sentKinds.size === 0) {
    if (choice.mode === "required") throw missingForcedTool()
    return undefined
  }
  return choice.mode
}

function missingForcedTool(): Error {
  return unsupportedSetting(
    "tool_choice",
    "asks for a tool that this model's provider does not have. Leave it out, or choose another.",
  )
}

function encodeToolName(name: string, sentKinds: ToolChoiceContext["sentKinds"]): Json {
  return sentKinds.get(name) === "custom"
    ? { type: "custom", custom: { name } }
    : { type: "function", function: { name } }
}
