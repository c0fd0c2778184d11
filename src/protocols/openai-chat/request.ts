// Checks a chat completions request and reads the few members the gateway acts on.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Edit } from "../../transport/json-splice.ts"
import { asciiJson } from "../../transport/json-splice.ts"
import {
  arrayOf,
  boolean,
  fault,
  integer,
  missing,
  nonEmptyString,
  number,
  object,
  oneOf,
  optional,
  required,
  string,
} from "../check.ts"
import type { Reading, RelayTarget } from "../contract.ts"
import { readRouting, refuseDestinations } from "../extension.ts"

type Where = { readonly at: string }

/** `developer` means `system`. */
const ROLES = ["system", "developer", "user", "assistant", "tool"] as const

export function readRequest(body: JsonObject): Reading {
  refuseDestinations(body)
  const model = required(body, "model", { check: nonEmptyString })
  const messages = required(body, "messages", { check: arrayOf(message) })
  if (messages.length === 0) throw fault("messages", "an array with at least one message")
  checkSettings(body)
  optional(body, "tools", { check: arrayOf(tool) })
  optional(body, "tool_choice", { check: toolChoice })
  optional(body, "response_format", { check: responseFormat })
  const stream = optional(body, "stream", { check: boolean }) ?? false
  return { model, stream, usageAsked: usageAsked(body), routing: readRouting(body) }
}

function checkSettings(body: JsonObject): void {
  optional(body, "temperature", { check: number({ min: 0, max: 2 }) })
  optional(body, "top_p", { check: number({ min: 0, max: 1 }) })
  optional(body, "frequency_penalty", { check: number({ min: -2, max: 2 }) })
  optional(body, "presence_penalty", { check: number({ min: -2, max: 2 }) })
  optional(body, "max_tokens", { check: integer({ min: 1 }) })
  optional(body, "max_completion_tokens", { check: integer({ min: 1 }) })
  optional(body, "n", { check: integer({ min: 1 }) })
  optional(body, "stop", { check: stop })
}

function usageAsked(body: JsonObject): boolean {
  const options = optional(body, "stream_options", { check: object })
  if (!options) return false
  return optional(options, "include_usage", { check: boolean, at: "stream_options." }) ?? false
}

function message(value: Json, where: Where): void {
  const said = object(value, where)
  const at = `${where.at}.`
  const role = required(said, "role", { check: oneOf(ROLES), at })
  const content = optional(said, "content", { check: contentOf, at })
  const calls = optional(said, "tool_calls", { check: arrayOf(toolCall), at })
  if (role === "tool") required(said, "tool_call_id", { check: string, at })
  if (content === undefined && role !== "assistant") throw missing(`${at}content`)
  if (calls && role !== "assistant") throw fault(`${at}tool_calls`, "on an assistant message only")
}

function contentOf(value: Json, where: Where): true {
  if (typeof value === "string") return true
  if (!Array.isArray(value)) throw fault(where.at, "a string or an array of content parts")
  arrayOf(contentPart)(value, where)
  return true
}

function contentPart(value: Json, where: Where): void {
  const part = object(value, where)
  const at = `${where.at}.`
  const type = required(part, "type", { check: string, at })
  if (type === "text") required(part, "text", { check: string, at })
  if (type === "image_url") {
    const image = required(part, "image_url", { check: object, at })
    required(image, "url", { check: string, at: `${at}image_url.` })
  }
}

function toolCall(value: Json, where: Where): void {
  const call = object(value, where)
  const at = `${where.at}.`
  optional(call, "id", { check: string, at })
  const called = optional(call, "function", { check: object, at })
  if (!called) return
  required(called, "name", { check: string, at: `${at}function.` })
  optional(called, "arguments", { check: string, at: `${at}function.` })
}

function tool(value: Json, where: Where): void {
  const defined = object(value, where)
  const at = `${where.at}.`
  // Several hosts take a function without its type.
  const type = optional(defined, "type", { check: string, at }) ?? "function"
  if (type !== "function") return
  const called = required(defined, "function", { check: object, at })
  required(called, "name", { check: nonEmptyString, at: `${at}function.` })
  optional(called, "description", { check: string, at: `${at}function.` })
  optional(called, "parameters", { check: object, at: `${at}function.` })
}

function toolChoice(value: Json, where: Where): void {
  // Hosts have words of their own beside `auto`, `none` and `required`.
  if (typeof value === "string") return
  if (!isObject(value)) throw fault(where.at, "a string or an object")
  optional(value, "type", { check: string, at: `${where.at}.` })
}

function responseFormat(value: Json, where: Where): void {
  const format = object(value, where)
  const at = `${where.at}.`
  const type = required(format, "type", { check: oneOf(["text", "json_object", "json_schema"]), at })
  if (type !== "json_schema") return
  const schema = required(format, "json_schema", { check: object, at })
  required(schema, "name", { check: string, at: `${at}json_schema.` })
  optional(schema, "schema", { check: object, at: `${at}json_schema.` })
}

function stop(value: Json, where: Where): void {
  if (typeof value === "string") return
  if (!Array.isArray(value)) throw fault(where.at, "a string or an array of strings")
  arrayOf(string)(value, where)
}

export function requestEdits(reading: Reading, target: RelayTarget): Edit[] {
  const edits: Edit[] = [
    { path: ["model"], set: asciiJson(target.model) },
    { path: ["provider"], remove: true },
  ]
  if (reading.stream && !reading.usageAsked && target.streamUsage === "ask") {
    edits.push({ path: ["stream_options", "include_usage"], set: "true" })
  }
  return edits
}
