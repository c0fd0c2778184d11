// Checks a messages request and reads the members that the gateway needs.

import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { fieldMismatch, runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import { messagesMembers } from "../../body-schemas.ts"
import type { RequestEnvelope, RequestSummary } from "../../contract.ts"
import { arrayOf, boolean, nonEmptyString, object, oneOf, optional, required, string } from "../../field-checks.ts"
import { readIdentifiers, readModelChoice, refuseUnpriced } from "../../gateway-extension.ts"
import { takesInstructions, upstreamHeaders } from "./protocol-version.ts"

export function readRequest(body: JsonObject, envelope: RequestEnvelope): RequestSummary {
  return runFieldChecks(() => {
    const counts = envelope.does === "count-tokens"
    const { model, routing } = readModelChoice(body)
    const { metadata } = body
    const identifiers = isObject(metadata) ? readIdentifiers(metadata, ["user_id"], "metadata") : undefined
    const maxOutputTokens = counts ? undefined : maxTokens(body.max_tokens)
    messages(body.messages, takesInstructions(envelope))
    system(body.system)
    checkSettings(body)
    tools(body.tools)
    toolChoice(body.tool_choice)
    refuseUnpriced(body, ORDINARY)
    return {
      operation: counts ? "count_tokens" : "messages",
      model,
      stream: (!counts && stream(body.stream)) || false,
      framing: "events",
      usageRequested: true,
      outputLimits: { maxOutputTokens, candidates: 1 },
      ...(runsTools(body) && { runsTools: true }),
      ...(namesRemoteServers(body) && { remoteServers: true }),
      ...(counts && { counts }),
      ...(identifiers && { identifiers }),
      routing,
      headers: upstreamHeaders(envelope),
    }
  })
}

function runsTools({ tools, mcp_servers }: JsonObject): boolean {
  if (Array.isArray(mcp_servers) && mcp_servers.length > 0) return true
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && !isClientTool(tool.type))
}

function namesRemoteServers({ mcp_servers, tools, messages }: JsonObject): boolean {
  if (Array.isArray(mcp_servers) && mcp_servers.length > 0) return true
  const isRemote = (each: Json) => isObject(each) && typeof each.type === "string" && each.type.startsWith("mcp_tool")
  if (Array.isArray(tools) && tools.some(isRemote)) return true
  if (!Array.isArray(messages)) return false
  return messages.some(
    (message) => isObject(message) && Array.isArray(message.content) && message.content.some(isRemote),
  )
}

/** The caller runs its own tools, and those that the vendor has only defined. */
function isClientTool(type: Json | undefined): boolean {
  return typeof type !== "string" || /^(custom$|bash_|text_editor_|computer_|memory_)/.test(type)
}

function checkSettings(body: JsonObject): void {
  temperature(body.temperature)
  topP(body.top_p)
  topK(body.top_k)
  stopSequences(body.stop_sequences)
}

const ORDINARY = { service_tier: ["auto", "standard_only"], speed: ["standard"], inference_geo: ["global"] }

const maxTokens = required("max_tokens", messagesMembers.max_tokens.read)
const temperature = optional("temperature", messagesMembers.temperature.read)
const topP = optional("top_p", messagesMembers.top_p.read)
const topK = optional("top_k", messagesMembers.top_k.read)
const stream = optional("stream", boolean)
const stopSequences = optional("stop_sequences", arrayOf(string))

const blockType = required("type", nonEmptyString)
const blockText = required("text", string)
const source = required("source", (value) => {
  const from = object(value)
  const kind = sourceType(from.type)
  if (kind === "base64") {
    mediaType(from.media_type)
    data(from.data)
  }
  if (kind === "url") url(from.url)
})
const sourceType = required("type", nonEmptyString)
const mediaType = required("media_type", nonEmptyString)
const data = required("data", string)
const url = required("url", nonEmptyString)
const toolId = required("id", nonEmptyString)
const toolName = required("name", nonEmptyString)
const toolInput = required("input", object)
const toolUseId = required("tool_use_id", nonEmptyString)
const toolContent = optional("content", contentOf)
const isError = optional("is_error", boolean)

/** Checks for a block's members, by its type; blocks of other types are not read. */
const BLOCKS: Readonly<Record<string, (block: JsonObject) => void>> = {
  text: (block) => blockText(block.text),
  image: (block) => source(block.source),
  document: (block) => source(block.source),
  tool_use(block) {
    toolId(block.id)
    toolName(block.name)
    toolInput(block.input)
  },
  tool_result(block) {
    toolUseId(block.tool_use_id)
    toolContent(block.content)
    isError(block.is_error)
  },
}

const blocks = arrayOf((value) => {
  const block = object(value)
  BLOCKS[blockType(block.type)]?.(block)
})

function contentOf(value: Json): void {
  if (typeof value === "string") return
  if (!Array.isArray(value)) throw fieldMismatch("a string or an array of content blocks")
  blocks(value)
}

const content = required("content", contentOf)
const system = optional("system", (value) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) throw fieldMismatch("a string or an array of text blocks")
  blocks(value)
})

const userOrAssistant = required("role", oneOf(["user", "assistant"]))
const anyRole = required("role", oneOf(["user", "assistant", "system"]))
const speech = (role: typeof userOrAssistant | typeof anyRole) =>
  arrayOf((value) => {
    const message = object(value)
    role(message.role)
    content(message.content)
  })
const plainSpeech = speech(userOrAssistant)
const mixedSpeech = speech(anyRole)
const plainMessages = required("messages", (value) => atLeastOne(plainSpeech(value)))
const mixedMessages = required("messages", (value) => atLeastOne(mixedSpeech(value)))

function messages(value: Json | undefined, withInstructions: boolean): void {
  if (withInstructions) mixedMessages(value)
  else plainMessages(value)
}

function atLeastOne(messages: readonly unknown[]): void {
  if (messages.length === 0) throw fieldMismatch("an array with at least one message")
}

const toolType = optional("type", string)
const inputSchema = required("input_schema", object)
const description = optional("description", string)
const tools = optional(
  "tools",
  arrayOf((value) => {
    const tool = object(value)
    const type = toolType(tool.type) ?? "custom"
    if (type !== "custom") return
    toolName(tool.name)
    description(tool.description)
    inputSchema(tool.input_schema)
  }),
)
const choiceType = required("type", nonEmptyString)
const toolChoice = optional("tool_choice", (value) => {
  if (!isObject(value)) throw fieldMismatch("an object")
  if (choiceType(value.type) === "tool") toolName(value.name)
})
