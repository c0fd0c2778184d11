// Rules that vendors enforce although their descriptions do not state them: rules of order and of size, each seen in
// their errors.
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"
import { breaches } from "../../src/protocols/chat/bedrock-converse/request-rules.fixture.ts"
import type { UpstreamProtocol } from "../conformance/axes.ts"
import { upstreamFormats } from "../conformance/upstreams/upstream-formats.ts"
import { brokenRules } from "../conformance/upstreams/vendor-rules.ts"

/** The faults for which a receiver would reject a request; empty for a valid one. */
export function ruleFaults(protocol: string, { body, model }: { body: JsonObject; model: string }): string[] {
  const format = upstreamFormats[protocol as UpstreamProtocol]
  if (!format) throw new Error(`no rules are known for ${protocol}`)
  const received = format.parseRequest(body, { model, stream: false })
  const broken = brokenRules(format.protocol, { received, body }).filter(
    (fault) => !isAllowed(fault, { protocol, model }),
  )
  return [...broken, ...(OWN[protocol]?.(body) ?? [])]
}

/** Rules of the matrix that not every model or vendor enforces. */
function isAllowed(fault: string, { protocol, model }: { protocol: string; model: string }): boolean {
  // The descriptions list the kinds of parts, and know more of them.
  if (fault.startsWith("a part it does not know")) return true
  // Only the third generation demands signatures.
  if (fault.endsWith("without a signature")) return !model.startsWith("gemini-3")
  // Items are a flat list there: each output names its call, and other items may be between them.
  if (protocol === "openai-responses") return fault === "a result behind something else"
  return false
}

const OWN: Readonly<Record<string, (body: JsonObject) => string[]>> = {
  "openai-chat": chatFaults,
  "openai-responses": responsesFaults,
  "anthropic-messages": anthropicFaults,
  "gemini-generate": geminiFaults,
  "bedrock-converse": (body) => [...breaches(body), ...converseFaults(body)],
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

const isBlank = (value: Json | undefined) => typeof value === "string" && value.trim() === ""

function chatFaults({ messages, tools, response_format }: JsonObject): string[] {
  const faults: string[] = []
  const open = new Set<Json | undefined>()
  for (const message of objects(messages)) {
    const { role, content, tool_calls, refusal } = message
    if (role === "tool" && !open.delete(message.tool_call_id)) faults.push("a result without its call right before")
    if (role !== "tool" && open.size > 0) faults.push(`${role} speaks before a call is answered`)
    const calls = objects(tool_calls)
    for (const { id } of calls) open.add(id)
    const isSilent = (content ?? null) === null && (refusal ?? null) === null && calls.length === 0
    if (isSilent) faults.push(`a message of ${role} that says nothing`)
    if (tool_calls !== undefined && calls.length === 0) faults.push("an empty list of calls")
  }
  if (open.size > 0) faults.push("a call without a result")
  if (objects(messages).length === 0) faults.push("no messages")
  const { json_schema, type } = isObject(response_format) ? response_format : {}
  if (type === "json_object" && !saysJson(messages)) faults.push("messages without the word JSON")
  const named = objects(tools).map((tool) => tool.function)
  return [...faults, ...emptyList("tools", tools), ...[json_schema, ...named].flatMap(strictFaults)]
}

function responsesFaults({ input, tools, text }: JsonObject): string[] {
  const blanks = objects(input).flatMap(({ role, content }) =>
    role !== undefined && Array.isArray(content) && content.length === 0 ? [`a message of ${role} of nothing`] : [],
  )
  const thoughts = objects(input).flatMap(({ type, encrypted_content, id }, index) => {
    if (type !== "reasoning") return []
    const { type: next } = objects(input)[index + 1] ?? {}
    const isLast = next === undefined
    const faults = encrypted_content === undefined && id === undefined ? ["a thought without its seal"] : []
    return isLast ? [...faults, "a thought that nothing follows"] : faults
  })
  const { format } = isObject(text) ? text : {}
  const isJson = isObject(format) && format.type === "json_object"
  const wordless = isJson && !saysJson(input) ? ["an input without the word JSON"] : []
  return [
    ...wordless,
    ...blanks,
    ...thoughts,
    ...emptyList("tools", tools),
    ...[format, ...objects(tools)].flatMap(strictFaults),
  ]
}

/** A JSON format without a schema requires the word JSON in the messages. */
function saysJson(value: Json | undefined): boolean {
  return /json/i.test(JSON.stringify(value ?? ""))
}

function emptyList(name: string, value: Json | undefined): string[] {
  return Array.isArray(value) && value.length === 0 ? [`an empty list of ${name}`] : []
}

/** In a strict schema, every object is closed and requires all its members. */
function strictFaults(named: Json | undefined): string[] {
  if (!isObject(named) || named.strict !== true) return []
  return objectSchemas(named.schema ?? named.parameters).flatMap(({ properties, required, additionalProperties }) => {
    const names = isObject(properties) ? Object.keys(properties) : []
    const demanded: readonly Json[] = Array.isArray(required) ? required : []
    const open = additionalProperties === false ? [] : [`a strict schema that is open: ${named.name}`]
    return names.every((name) => demanded.includes(name)) ? open : [...open, `an optional member of ${named.name}`]
  })
}

function objectSchemas(schema: Json | undefined): JsonObject[] {
  if (Array.isArray(schema)) return schema.flatMap((each: Json) => objectSchemas(each))
  if (!isObject(schema)) return []
  const inner = ["properties", "$defs", "definitions"].flatMap((name) =>
    isObject(schema[name]) ? Object.values(schema[name]) : [],
  )
  const found = [...inner, schema.items, schema.anyOf, schema.oneOf, schema.allOf].flatMap(objectSchemas)
  return schema.type === "object" ? [schema, ...found] : found
}

const MAX_MARKS = 4

function anthropicFaults(body: JsonObject): string[] {
  const { system, messages, thinking, max_tokens, output_config } = body
  const outer = [...objects(system), ...objects(messages).flatMap(({ content }) => objects(content))]
  const blocks = outer.flatMap((block) => (block.type === "tool_result" ? [...objects(block.content), block] : [block]))
  const faults = blocks.flatMap(blockFaults)
  if (isBlank(system)) faults.push("a system of nothing")
  for (const { content } of objects(messages)) {
    if (isBlank(content) || (Array.isArray(content) && content.length === 0)) faults.push("a message of nothing")
  }
  faults.push(...markFaults([...objects(body.tools), ...blocks].map(({ cache_control }) => cache_control)))
  const { format } = isObject(output_config) ? output_config : {}
  const open = objectSchemas(isObject(format) ? format.schema : undefined).filter(
    ({ additionalProperties }) => additionalProperties !== false,
  )
  if (open.length > 0) faults.push("an answer's schema that is open")
  if (body.temperature !== undefined && body.top_p !== undefined) faults.push("a temperature and a nucleus")
  if (isObject(thinking) && thinking.type === "enabled") faults.push(...thinkingFaults(body, thinking.budget_tokens))
  if (typeof max_tokens !== "number" || max_tokens < 1) faults.push("no room for an answer")
  return [...faults, ...emptyList("tools", body.tools), ...lastFaults(objects(messages).at(-1))]
}

function markFaults(all: readonly (Json | undefined)[]): string[] {
  const times = all.flatMap((mark) => (isObject(mark) ? [mark.ttl ?? "5m"] : []))
  const faults = times.length > MAX_MARKS ? [`${times.length} cache marks`] : []
  const isLate = times.includes("5m") && times.lastIndexOf("1h") > times.indexOf("5m")
  return isLate ? [...faults, "a mark of an hour behind one of five minutes"] : faults
}

function converseFaults({ system, messages, toolConfig }: JsonObject): string[] {
  const { tools } = isObject(toolConfig) ? toolConfig : {}
  const content = objects(messages).flatMap((message) => objects(message.content))
  const marks = [...objects(tools), ...objects(system), ...content].map(({ cachePoint }) => cachePoint)
  return [...markFaults(marks), ...lastFaults(objects(messages).at(-1))]
}

function blockFaults({ type, text, signature, cache_control, data }: JsonObject): string[] {
  if (type === "text" && isBlank(text)) return ["a text of nothing"]
  if (type === "thinking" && (signature === undefined || cache_control !== undefined)) return ["a thought unsigned"]
  return type === "redacted_thinking" && data === undefined ? ["a hidden thought of nothing"] : []
}

function thinkingFaults({ max_tokens, temperature, top_k, top_p, tool_choice }: JsonObject, budget?: Json): string[] {
  const faults: string[] = []
  if (Number(budget) < 1024 || Number(budget) >= Number(max_tokens)) faults.push(`thinks ${budget} of ${max_tokens}`)
  if ((temperature ?? 1) !== 1 || top_k !== undefined || Number(top_p ?? 1) < 0.95) faults.push("thinks and samples")
  if (isObject(tool_choice) && (tool_choice.type === "any" || tool_choice.type === "tool"))
    faults.push("thinks and is forced to call")
  return faults
}

function lastFaults(message: JsonObject | undefined): string[] {
  if (message?.role !== "assistant") return []
  const { content } = message
  const last = typeof content === "string" ? content : objects(content).findLast(({ cachePoint }) => !cachePoint)?.text
  return typeof last === "string" && last.trimEnd() !== last ? ["the last word is white space"] : []
}

const DATA = ["text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"]
const MORE_DATA = ["codeExecutionResult", "toolCall", "toolResponse"]

function geminiFaults({ contents, systemInstruction, tools }: JsonObject): string[] {
  const turns = objects(contents)
  const faults = turns.length === 0 ? ["no contents"] : emptyList("tools", tools)
  for (const [index, { role, parts }] of turns.entries()) {
    if (objects(parts).length === 0) faults.push("a content of nothing")
    if (role !== "user" && role !== "model") faults.push(`a content of ${role}`)
    for (const part of objects(parts)) {
      const kinds = [...DATA, ...MORE_DATA].filter((kind) => part[kind] !== undefined)
      if (kinds.length !== 1) faults.push(`a part of ${Object.keys(part)}`)
      const before = objects(turns[index - 1]?.parts)
      if (part.functionResponse !== undefined && !before.some(({ functionCall }) => functionCall !== undefined))
        faults.push("a result that does not directly follow its call")
    }
    const calls = objects(parts).some(({ functionCall }) => functionCall !== undefined)
    if (calls && index > 0 && turns[index - 1]?.role !== "user")
      faults.push("a call that does not directly follow the user")
  }
  if (isObject(systemInstruction) && objects(systemInstruction.parts).length === 0) faults.push("no instruction")
  return faults
}
