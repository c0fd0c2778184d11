// Decodes a request's tools and the choice among them.

import type { FunctionTool, HostedTool, ToolChoice, ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { toJsonSchema } from "../gemini-schema.ts"
import { GeminiFieldReader, PROTOCOL, text } from "../passthrough-fields.ts"

/** The canonical kinds of the vendor's own tools. */
const HOSTED: Readonly<Record<string, HostedTool["purpose"]>> = {
  googleSearch: "web-search",
  google_search: "web-search",
  googleSearchRetrieval: "web-search",
  google_search_retrieval: "web-search",
  urlContext: "web-fetch",
  url_context: "web-fetch",
  codeExecution: "code",
  code_execution: "code",
  computerUse: "computer",
  computer_use: "computer",
  fileSearch: "files",
  file_search: "files",
  retrieval: "files",
}

const DECLARATIONS = ["functionDeclarations", "function_declarations"]

/** An entry may hold several functions and also vendor tools; each becomes a separate tool. */
export function decodeTools(value: readonly Json[]): ToolDefinition[] {
  return value.flatMap((entry, index): ToolDefinition[] => {
    const at = `tools[${index}]`
    if (!isObject(entry) || Object.keys(entry).length === 0) return [hostedTool("", { at, value: entry })]
    return Object.entries(entry).flatMap(([name, held]) => toolsNamed(name, held, at))
  })
}

function toolsNamed(name: string, held: Json, at: string): ToolDefinition[] {
  if (held === null) return []
  if (DECLARATIONS.includes(name) && Array.isArray(held) && held.length > 0 && held.every(isNamed)) {
    return held.map((declared, index) => decodeFunction(declared, `${at}.${name}[${index}]`))
  }
  return [hostedTool(name, { at: `${at}.${name}`, value: { [name]: held } })]
}

function isNamed(declared: Json): declared is JsonObject {
  return isObject(declared) && typeof declared.name === "string"
}

function hostedTool(name: string, { at, value }: { at: string; value: Json }): HostedTool {
  return { kind: "hosted", name, purpose: HOSTED[name] ?? "other", protocol: PROTOCOL, value, at }
}

function decodeFunction(declared: JsonObject, at: string): FunctionTool {
  const members = new GeminiFieldReader(declared)
  const name = members.take("name", text) ?? ""
  const description = members.take("description", text)
  const parameters =
    members.take("parametersJsonSchema", (value) => value) ?? members.take("parameters", (value) => toJsonSchema(value))
  const extra = members.rest()
  return {
    kind: "function",
    at,
    name,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(extra && { extra }),
  }
}

/** A mode without a canonical counterpart passes through with its names. */
export function decodeToolChoice(config: GeminiFieldReader): ToolChoice | undefined {
  return config.take("functionCallingConfig", (value) => {
    if (!isObject(value)) return undefined
    const members = new GeminiFieldReader(value)
    const choice = choose(members)
    return choice && members.rest() === undefined ? choice : undefined
  })
}

function choose(members: GeminiFieldReader): ToolChoice | undefined {
  const mode = members.take("mode", text)
  const names = members.take("allowedFunctionNames", (value) =>
    Array.isArray(value) && value.every((name) => typeof name === "string") && value.length > 0 ? value : undefined,
  )
  const [only] = names ?? []
  if (names === undefined) return mode === undefined ? undefined : MODES[mode]
  if (mode === "VALIDATED") return { mode: "some", names, required: false }
  if (mode !== "ANY" || only === undefined) return undefined
  return names.length === 1 ? { mode: "tool", name: only } : { mode: "some", names, required: true }
}

const MODES: Readonly<Record<string, ToolChoice>> = {
  AUTO: { mode: "auto" },
  ANY: { mode: "required" },
  NONE: { mode: "none" },
}
