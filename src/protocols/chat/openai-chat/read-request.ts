// Checks a chat completions request and reads the members that the gateway needs.

import { effortOf, nearestEffort, type ReasoningEffort } from "../../../canonical/chat/reasoning-effort.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { fieldMismatch, runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import type { JsonEdit } from "../../../transport/json/json-splice.ts"
import { chatMembers } from "../../body-schemas.ts"
import type { OutputLimits, RelayTarget, RequestEnvelope, RequestSummary } from "../../contract.ts"
import { arrayOf, boolean, nonEmptyString, object, oneOf, optional, required, string } from "../../field-checks.ts"
import {
  gatewayEdits,
  NO_HEADERS,
  OPENAI_IDENTIFIERS,
  readIdentifiers,
  readModelChoice,
  refuseUnpriced,
} from "../../gateway-extension.ts"
import { reasoningIn } from "./decode/decode-settings.ts"

export function readRequest(body: JsonObject, envelope?: Pick<RequestEnvelope, "rest">): RequestSummary {
  return runFieldChecks(() => {
    const { model, routing } = readModelChoice(body, { rest: envelope?.rest })
    const identifiers = readIdentifiers(body, OPENAI_IDENTIFIERS)
    const isRewritten = (Array.isArray(body.functions) ? olderMessages : messages)(body.messages)
    const effort = otherEffort(body)
    const outputLimits = checkSettings(body)
    tools(body.tools)
    toolChoice(body.tool_choice)
    responseFormat(body.response_format)
    refuseUnpriced(body, ORDINARY)
    const summary: RequestSummary = {
      operation: "chat",
      model,
      stream: stream(body.stream) ?? false,
      framing: "events",
      usageRequested: streamOptions(body.stream_options) ?? false,
      outputLimits,
      routing,
      headers: NO_HEADERS,
    }
    const [runs, stores, audio] = [runsTools(body), store(body.store), requestsAudio(body.modalities)]
    // Most requests have none of these, and each spread of nothing costs as much as one of something.
    if (!(runs || stores || audio || identifiers || isRewritten) && effort === undefined) return summary
    return {
      ...summary,
      ...(runs && { runsTools: true }),
      ...(stores && { storesUpstream: true }),
      ...(audio && { audioMember: "modalities" }),
      ...(identifiers && { identifiers }),
      ...(isRewritten && { isRewritten }),
      ...(effort !== undefined && { effort }),
    }
  })
}

/** The reasoning effort from a member that is not OpenAI's. */
function otherEffort(body: JsonObject): ReasoningEffort | undefined {
  const { reasoning, thinking, extra_body, reasoning_effort } = body
  if (!(reasoning || thinking || extra_body) || reasoning_effort) return undefined
  const settings = reasoningIn(body)
  if (!settings) return undefined
  return settings.effort ?? (settings.budgetTokens === undefined ? undefined : effortOf(settings.budgetTokens))
}

function requestsAudio(modalities: Json | undefined): boolean {
  return Array.isArray(modalities) && modalities.includes("audio")
}

function runsTools({ tools, web_search_options, search_parameters }: JsonObject): boolean {
  if (web_search_options || search_parameters) return true
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && !CLIENT_TOOLS.includes(tool.type ?? "function"))
}

const CLIENT_TOOLS: readonly Json[] = ["function", "custom"]

function checkSettings(body: JsonObject): OutputLimits {
  temperature(body.temperature)
  topP(body.top_p)
  frequencyPenalty(body.frequency_penalty)
  presencePenalty(body.presence_penalty)
  stop(body.stop)
  // Candidates that a host generates to choose from are billed like those it returns.
  const count = Math.max(candidates(body.n) ?? 1, bestOf(body.best_of) ?? 1)
  return { ...outputLimit(body), candidates: count }
}

const NO_LIMIT: Pick<OutputLimits, "maxOutputTokens"> = { maxOutputTokens: undefined }

/** A host may know either member, so every host gets the smaller limit. */
function outputLimit(body: JsonObject): Pick<OutputLimits, "maxOutputTokens" | "limitMembers"> {
  const older = maxTokens(body.max_tokens)
  const newer = maxCompletionTokens(body.max_completion_tokens)
  if (newer === undefined) return older === undefined ? NO_LIMIT : { maxOutputTokens: older, limitMembers: OLDER }
  if (older === undefined) return { maxOutputTokens: newer, limitMembers: NEWER }
  return { maxOutputTokens: Math.min(older, newer), limitMembers: LIMIT_MEMBERS }
}

const OLDER = ["max_tokens"]
const NEWER = ["max_completion_tokens"]
const LIMIT_MEMBERS = [...NEWER, ...OLDER]

const ORDINARY = { service_tier: ["auto", "default"] }

const temperature = optional("temperature", chatMembers.temperature.read)
const topP = optional("top_p", chatMembers.top_p.read)
const frequencyPenalty = optional("frequency_penalty", chatMembers.frequency_penalty.read)
const presencePenalty = optional("presence_penalty", chatMembers.presence_penalty.read)
const maxTokens = optional("max_tokens", chatMembers.max_tokens.read)
const maxCompletionTokens = optional("max_completion_tokens", chatMembers.max_completion_tokens.read)
const candidates = optional("n", chatMembers.n.read)
const bestOf = optional("best_of", chatMembers.best_of.read)
const stream = optional("stream", boolean)
const store = optional("store", boolean)
const includeUsage = optional("include_usage", boolean)
const streamOptions = optional("stream_options", (value) => includeUsage(object(value).include_usage))

const strings = arrayOf(string)
const stop = optional("stop", (value) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) throw fieldMismatch("a string or an array of strings")
  strings(value)
})

/** `developer` means `system`. */
const ROLES = ["system", "developer", "user", "assistant", "tool"] as const
const role = required("role", oneOf(ROLES))
/** The role of tool results in the older form with `functions`. */
const olderRole = required("role", oneOf([...ROLES, "function"]))
const partType = required("type", string)
const partText = required("text", string)
const url = required("url", string)
/** Mistral's clients send the address itself. Whether it was so. */
const imageUrl = required("image_url", (value) => {
  if (typeof value === "string") return true
  url(object(value).url)
  return false
})
const parts = arrayOf((value) => {
  const part = object(value)
  const type = partType(part.type)
  if (type === "text") partText(part.text)
  return type === "image_url" && imageUrl(part.image_url)
})
/** True if it contains a form that is not OpenAI's. */
const contentOf = (value: Json): boolean => {
  if (typeof value === "string") return false
  if (!Array.isArray(value)) throw fieldMismatch("a string or an array of content parts")
  return parts(value).includes(true)
}
const content = required("content", contentOf)
const optionalContent = optional("content", contentOf)
const toolCallId = required("tool_call_id", string)

const id = optional("id", string)
const calledName = required("name", string)
const calledArguments = optional("arguments", string)
const calledFunction = optional("function", (value) => {
  const called = object(value)
  calledName(called.name)
  calledArguments(called.arguments)
})
const calls = arrayOf((value) => {
  const call = object(value)
  id(call.id)
  calledFunction(call.function)
})
const toolCalls = optional("tool_calls", calls)
const noToolCalls = optional("tool_calls", (value) => {
  calls(value)
  throw fieldMismatch("on an assistant message only")
})

const checkMessage = (message: JsonObject, role: string): boolean | undefined => {
  if (role === "assistant") {
    toolCalls(message.tool_calls)
    return optionalContent(message.content)
  }
  const isOdd = content(message.content)
  noToolCalls(message.tool_calls)
  if (role === "tool") toolCallId(message.tool_call_id)
  if (role === "function") calledName(message.name)
  return isOdd
}

/** True if one of the messages has a form that is not OpenAI's. */
const messagesOf = (readRole: (value: Json | undefined) => string) => {
  const some = arrayOf((value) => {
    const message = object(value)
    return checkMessage(message, readRole(message.role))
  })
  return required("messages", (value) => {
    const results = some(value)
    if (results.length === 0) throw fieldMismatch("an array with at least one message")
    return results.includes(true)
  })
}
const messages = messagesOf(role)
const olderMessages = messagesOf(olderRole)

const toolType = optional("type", string)
const functionName = required("name", nonEmptyString)
const functionDescription = optional("description", string)
const functionParameters = optional("parameters", object)
const functionTool = required("function", (value) => {
  const defined = object(value)
  functionName(defined.name)
  functionDescription(defined.description)
  functionParameters(defined.parameters)
})
const tools = optional(
  "tools",
  arrayOf((value) => {
    const tool = object(value)
    // Several hosts accept a function without a type.
    if ((toolType(tool.type) ?? "function") === "function") functionTool(tool.function)
  }),
)
const toolChoice = optional("tool_choice", (value) => {
  // Hosts have further values in addition to `auto`, `none` and `required`.
  if (typeof value === "string") return
  if (!isObject(value)) throw fieldMismatch("a string or an object")
  toolType(value.type)
})

const formatType = required("type", oneOf(["text", "json_object", "json_schema"]))
const schemaName = required("name", string)
const schemaSchema = optional("schema", object)
const jsonSchema = required("json_schema", (value) => {
  const named = object(value)
  schemaName(named.name)
  schemaSchema(named.schema)
})
const responseFormat = optional("response_format", (value) => {
  const format = object(value)
  if (formatType(format.type) === "json_schema") jsonSchema(format.json_schema)
})

/** Callers share an account, so the provider stores nothing. */
const NOT_STORED: JsonEdit = { path: ["store"], set: "false" }

export function requestEdits(reading: RequestSummary, target: RelayTarget): JsonEdit[] {
  const edits = gatewayEdits(reading, target)
  const { unknown } = target
  if (unknown) {
    edits.push(...unknown.map((name): JsonEdit => ({ path: [name], remove: true })))
    const { effort } = reading
    if (effort && target.efforts) {
      edits.push({ path: ["reasoning_effort"], set: JSON.stringify(nearestEffort(effort, target.efforts)) })
    }
  }
  edits.push(...limitEdits(reading.outputLimits, target))
  if (reading.storesUpstream) edits.push(NOT_STORED)
  if (reading.stream && !reading.usageRequested && target.streamUsage === "ask") {
    edits.push({ path: ["stream_options", "include_usage"], set: "true" })
  }
  return edits
}

/** The limit is sent only in a member that the host knows. */
function limitEdits(
  { maxOutputTokens, limitMembers }: OutputLimits,
  { limitMembers: known = OLDER }: RelayTarget,
): JsonEdit[] {
  if (!limitMembers || maxOutputTokens === undefined) return NO_EDITS
  const kept = known.find((name) => limitMembers.includes(name)) ?? known[0] ?? "max_tokens"
  if (limitMembers.length === 1 && limitMembers[0] === kept) return NO_EDITS
  const others = limitMembers.filter((name) => name !== kept)
  return [
    { path: [kept], set: String(maxOutputTokens) },
    ...others.map((name): JsonEdit => ({ path: [name], remove: true })),
  ]
}

const NO_EDITS: JsonEdit[] = []
