// Checks a responses request and reads the members that the gateway needs.

import { GatewayError } from "../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { fieldMismatch, runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import { asciiOf, type JsonEdit } from "../../../transport/json/json-splice.ts"
import { responsesMembers } from "../../body-schemas.ts"
import type {
  ItemReference,
  OutputLimits,
  RelayTarget,
  RequestEnvelope,
  RequestSummary,
  ResponseStorage,
} from "../../contract.ts"
import { arrayOf, boolean, nonEmptyString, object, oneOf, optional, required, string } from "../../field-checks.ts"
import {
  gatewayEdits,
  NO_HEADERS,
  OPENAI_IDENTIFIERS,
  readIdentifiers,
  readModelChoice,
  refuseUnpriced,
} from "../../gateway-extension.ts"
import { COUNT } from "./count-tokens.ts"

/** Longer than any id of the gateway. */
const MAX_ID_LENGTH = 128
/** The `include` value that makes the provider seal reasoning, so that it can be sent back. */
const SEALS = "reasoning.encrypted_content"
const ORDINARY = { service_tier: ["auto", "default"] }

export function readRequest(body: JsonObject, envelope?: Pick<RequestEnvelope, "does">): RequestSummary {
  return runFieldChecks(() => {
    const counts = envelope?.does === "count-tokens"
    const { model, routing } = readModelChoice(body)
    const identifiers = readIdentifiers(body, OPENAI_IDENTIFIERS)
    input(body.input)
    instructions(body.instructions)
    const outputLimits = checkSettings(body)
    tools(body.tools)
    toolChoice(body.tool_choice)
    if (background(body.background)) throw backgroundUnsupported()
    refuseUnpriced(body, ORDINARY)
    return {
      operation: counts ? COUNT : "responses",
      model,
      stream: (stream(body.stream) ?? false) && !counts,
      framing: "events",
      usageRequested: true,
      outputLimits,
      ...(runsTools(body.tools) && { runsTools: true }),
      ...(counts && { counts }),
      storage: readStorage(body, counts),
      ...(identifiers && { identifiers }),
      routing,
      headers: NO_HEADERS,
    }
  })
}

function runsTools(tools: Json | undefined): boolean {
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && !CLIENT_TOOLS.includes(tool.type ?? ""))
}

const CLIENT_TOOLS: readonly Json[] = ["function", "custom", "namespace", "local_shell", "apply_patch"]

function checkSettings(body: JsonObject): OutputLimits {
  temperature(body.temperature)
  topP(body.top_p)
  maxToolCalls(body.max_tool_calls)
  parallel(body.parallel_tool_calls)
  reasoning(body.reasoning)
  text(body.text)
  return { maxOutputTokens: maxOutputTokens(body.max_output_tokens), candidates: 1 }
}

/** Storage settings. Nothing is stored for a token count. */
function readStorage(body: JsonObject, counts: boolean): ResponseStorage {
  const includes = include(body.include)
  const previous = previousId(body.previous_response_id)
  const stores = (store(body.store) ?? true) && !counts
  const references = referencesIn(body.input)
  return {
    store: stores,
    ...(previous !== undefined && { previous }),
    ...(references.length > 0 && { references }),
    ...(includes && { includes }),
  }
}

function referencesIn(input: Json | undefined): ItemReference[] {
  if (!Array.isArray(input)) return []
  return input.flatMap((item, index) =>
    isObject(item) && isReference(item) && typeof item.id === "string" ? [{ index, id: item.id }] : [],
  )
}

/** The type is optional if the id is the only other member. */
function isReference({ type, id, ...others }: JsonObject): boolean {
  return type === "item_reference" || (type == null && id !== undefined && Object.keys(others).length === 0)
}

const instructions = optional("instructions", string)
const temperature = optional("temperature", responsesMembers.temperature.read)
const topP = optional("top_p", responsesMembers.top_p.read)
const maxOutputTokens = optional("max_output_tokens", responsesMembers.max_output_tokens.read)
const maxToolCalls = optional("max_tool_calls", responsesMembers.max_tool_calls.read)
const parallel = optional("parallel_tool_calls", boolean)
const stream = optional("stream", boolean)
const store = optional("store", boolean)
const background = optional("background", boolean)
const include = optional("include", arrayOf(string))
const previousId = optional("previous_response_id", (value) => {
  const id = nonEmptyString(value)
  if (id.length > MAX_ID_LENGTH) throw fieldMismatch(`a response's id, of at most ${MAX_ID_LENGTH} characters`)
  return id
})
const effort = optional("effort", string)
const reasoning = optional("reasoning", (value) => effort(object(value).effort))

const formatType = required("type", oneOf(["text", "json_object", "json_schema"]))
const formatName = required("name", nonEmptyString)
const formatSchema = required("schema", object)
const format = optional("format", (value) => {
  const settings = object(value)
  if (formatType(settings.type) !== "json_schema") return
  formatName(settings.name)
  formatSchema(settings.schema)
})
const text = optional("text", (value) => format(object(value).format))

const role = required("role", oneOf(["user", "assistant", "system", "developer"]))
const partType = required("type", nonEmptyString)
const partText = required("text", string)
const parts = arrayOf((value) => {
  const part = object(value)
  const type = partType(part.type)
  if (type === "input_text" || type === "output_text") partText(part.text)
})
const content = required("content", (value) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) throw fieldMismatch("a string or an array of content parts")
  parts(value)
})

const itemType = optional("type", string)
const itemId = required("id", nonEmptyString)
const callId = required("call_id", nonEmptyString)
const callName = required("name", nonEmptyString)
const callArguments = required("arguments", string)

/** Checks for an item's members, by its type; items of other types are not read. */
const ITEMS: Readonly<Record<string, (item: JsonObject) => void>> = {
  message(item) {
    role(item.role)
    content(item.content)
  },
  function_call(item) {
    callId(item.call_id)
    callName(item.name)
    callArguments(item.arguments)
  },
  function_call_output: (item) => void callId(item.call_id),
  item_reference: (item) => void itemId(item.id),
}

const items = arrayOf((value) => {
  const item = object(value)
  const type = itemType(item.type) ?? (isReference(item) ? "item_reference" : "message")
  ITEMS[type]?.(item)
})
const input = required("input", (value: Json) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) throw fieldMismatch("a string or an array of items")
  items(value)
})

const toolType = required("type", nonEmptyString)
const toolName = required("name", nonEmptyString)
const toolParameters = optional("parameters", object)
const tools = optional(
  "tools",
  arrayOf((value) => {
    const tool = object(value)
    const type = toolType(tool.type)
    if (type !== "function") return
    toolName(tool.name)
    toolParameters(tool.parameters)
  }),
)
const toolChoice = optional("tool_choice", (value) => {
  if (typeof value !== "string") object(value)
})

function backgroundUnsupported(): GatewayError {
  const message = "`background` is not supported. Leave it out, or stream the response."
  return new GatewayError("unsupported_parameter", message, { param: "background" })
}

/** Callers share an account, so the provider stores nothing; the gateway does. */
export function requestEdits(reading: RequestSummary, target: RelayTarget): JsonEdit[] {
  const owned = gatewayEdits(reading, target)
  // A count stores nothing.
  if (reading.counts) return owned
  const { storage } = reading
  const edits: JsonEdit[] = [...owned, { path: ["store"], set: "false" }]
  // Otherwise its reasoning would be missing when the conversation continues.
  if (storage?.store && storage.reasons && !storage.includes?.includes(SEALS)) {
    edits.push({ path: ["include"], set: asciiOf([...(storage.includes ?? []), SEALS]) })
  }
  return edits
}
