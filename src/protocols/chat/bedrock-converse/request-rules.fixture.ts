// Checks a request against the interface's rules.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"

const MEDIA = ["image", "document", "video", "audio"]
const USER = [...MEDIA, "text", "toolResult", "cachePoint", "guardContent"]
/** Results of tools that the provider ran follow their calls. */
const ASSISTANT = ["text", "reasoningContent", "toolUse", "toolResult", "cachePoint"]
const NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** Violations of the interface's rules; empty for a valid request. */
export function breaches(body: JsonObject): string[] {
  const messages = objects(body.messages)
  const found: string[] = []
  if (messages[0]?.role !== "user") found.push("the user does not begin")
  for (const [index, { role, content }] of messages.entries()) {
    if (index > 0 && messages[index - 1]?.role === role) found.push("a role speaks twice in a row")
    found.push(...contentBreaches(objects(content), role === "user" ? USER : ASSISTANT))
  }
  const blocks = messages.flatMap(({ content }) => objects(content))
  found.push(...borderBreaches(objects(body.system)), ...documentBreaches(blocks))
  if (objects(body.system).some((block) => !("text" in block) && !("cachePoint" in block))) found.push("a system block")
  const called = blocks.some((block) => "toolUse" in block)
  if (called && !isObject(body.toolConfig)) found.push("tools without their configuration")
  return [...found, ...toolBreaches(body.toolConfig), ...inferenceBreaches(body.inferenceConfig)]
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function contentBreaches(blocks: readonly JsonObject[], kinds: readonly string[]): string[] {
  const found = borderBreaches(blocks)
  if (blocks.length === 0) found.push("a message of nothing")
  let others = false
  for (const block of blocks) {
    const [kind = "", ...more] = Object.keys(block)
    if (more.length > 0 || !kinds.includes(kind)) found.push(`a block of ${Object.keys(block)}`)
    if (block.text === "") found.push("a text of nothing")
    if (kind === "toolResult" && others && kinds === USER) found.push("a result behind other content")
    others ||= kind !== "toolResult" && kind !== "cachePoint"
    found.push(...callBreaches(block), ...resultBreaches(block.toolResult), ...mediaBreaches(block))
  }
  const has = (kind: string) => blocks.some((block) => kind in block)
  if (has("document") && !has("text")) found.push("a document without a word")
  return found
}

function borderBreaches(blocks: readonly JsonObject[]): string[] {
  return blocks.flatMap((block, index) => {
    if (!("cachePoint" in block)) return []
    const [before = "cachePoint"] = Object.keys(blocks[index - 1] ?? {})
    return ["cachePoint", ...MEDIA].includes(before) ? [`a border behind ${before}`] : []
  })
}

function callBreaches({ toolUse }: JsonObject): string[] {
  if (!isObject(toolUse)) return []
  const { toolUseId, name, input } = toolUse
  const sound = NAME.test(String(toolUseId)) && NAME.test(String(name)) && isObject(input)
  return sound ? [] : [`a call ${JSON.stringify(toolUse)}`]
}

function resultBreaches(result: Json | undefined): string[] {
  if (!isObject(result)) return []
  const content = objects(result.content)
  const known = content.every((block) => ["text", "json", ...MEDIA].includes(Object.keys(block)[0] ?? ""))
  const sound = NAME.test(String(result.toolUseId)) && known && content.length > 0
  return sound ? content.flatMap(mediaBreaches) : [`a result ${JSON.stringify(result)}`]
}

function mediaBreaches(block: JsonObject): string[] {
  return MEDIA.flatMap((kind) => {
    const media = block[kind]
    if (!isObject(media)) return []
    const { format, source } = media
    const bytes = isObject(source) ? (source.bytes ?? "c3Rv") : ""
    const sound = typeof bytes === "string" && /^[A-Za-z0-9+/]+={0,2}$/.test(bytes) && bytes.length % 4 === 0
    return sound && typeof format === "string" ? [] : [`a ${kind} without bytes`]
  })
}

function documentBreaches(blocks: readonly JsonObject[]): string[] {
  const inResults = blocks.flatMap(({ toolResult }) => (isObject(toolResult) ? objects(toolResult.content) : []))
  const names = [...blocks, ...inResults].flatMap(({ document }) => (isObject(document) ? [String(document.name)] : []))
  const odd = names.filter((name) => !/^[A-Za-z0-9()[\]-]+( [A-Za-z0-9()[\]-]+)*$/.test(name) || name.length > 200)
  const twice = new Set(names).size < names.length ? ["two documents of one name"] : []
  return [...odd.map((name) => `a document called ${name}`), ...twice]
}

function toolBreaches(config: Json | undefined): string[] {
  if (!isObject(config)) return []
  const tools = objects(config.tools)
  const specs = tools.flatMap(({ toolSpec }) => (isObject(toolSpec) ? [toolSpec] : []))
  const found = borderBreaches(tools)
  if (tools.every((tool) => "cachePoint" in tool)) found.push("no tools")
  for (const { name, description, inputSchema } of specs) {
    const schema = isObject(inputSchema) ? inputSchema.json : undefined
    if (!NAME.test(String(name)) || description === "") found.push(`a tool called ${name}`)
    if (!isObject(schema) || schema.type !== "object" || "anyOf" in schema) found.push(`a schema of ${name}`)
  }
  const { toolChoice } = config
  if (!isObject(toolChoice)) return found
  const { tool } = toolChoice
  if (Object.keys(toolChoice).length !== 1) found.push("a choice of several")
  if (isObject(tool) && !specs.some(({ name }) => name === tool.name)) found.push("a choice of no tool")
  return found
}

function inferenceBreaches(config: Json | undefined): string[] {
  if (!isObject(config)) return []
  const { maxTokens = 1, temperature = 0, topP = 0, stopSequences = [] } = config
  const inRange = (value: Json) => typeof value === "number" && value >= 0 && value <= 1
  const found: string[] = []
  if (typeof maxTokens !== "number" || maxTokens < 1) found.push("a limit of nothing")
  if (!inRange(temperature) || !inRange(topP)) found.push("a sampling out of bounds")
  if (!Array.isArray(stopSequences) || stopSequences.includes("")) found.push("a stop at nothing")
  return found
}
