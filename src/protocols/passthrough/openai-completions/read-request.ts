// Checks a completions request and reads the members that the gateway needs.

import type { Json, JsonObject } from "../../../canonical/json.ts"
import { fieldMismatch, runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import type { JsonEdit } from "../../../transport/json/json-splice.ts"
import { completionsMembers } from "../../body-schemas.ts"
import type { OutputLimits, RelayTarget, RequestEnvelope, RequestSummary } from "../../contract.ts"
import { arrayOf, boolean, object, optional, required, string } from "../../field-checks.ts"
import {
  gatewayEdits,
  NO_HEADERS,
  OPENAI_IDENTIFIERS,
  readIdentifiers,
  readModelChoice,
} from "../../gateway-extension.ts"

export function readRequest(body: JsonObject, envelope?: Pick<RequestEnvelope, "rest">): RequestSummary {
  return runFieldChecks(() => {
    const { model, routing } = readModelChoice(body, { rest: envelope?.rest })
    const identifiers = readIdentifiers(body, OPENAI_IDENTIFIERS)
    const prompts = prompt(body.prompt)
    const outputLimits = checkSettings(body, prompts)
    return {
      operation: "completions",
      model,
      stream: stream(body.stream) ?? false,
      framing: "events",
      usageRequested: streamOptions(body.stream_options) ?? false,
      outputLimits,
      ...(identifiers && { identifiers }),
      routing,
      headers: NO_HEADERS,
    }
  })
}

function checkSettings(body: JsonObject, prompts: number): OutputLimits {
  temperature(body.temperature)
  topP(body.top_p)
  frequencyPenalty(body.frequency_penalty)
  presencePenalty(body.presence_penalty)
  stop(body.stop)
  suffix(body.suffix)
  echo(body.echo)
  logprobs(body.logprobs)
  user(body.user)
  // Candidates that a host generates to choose from are billed like those it returns.
  const perPrompt = Math.max(candidates(body.n) ?? 1, bestOf(body.best_of) ?? 1)
  return { maxOutputTokens: maxTokens(body.max_tokens), candidates: perPrompt * prompts }
}

/** Returns the number of prompts. */
const prompt = required("prompt", (value) => {
  if (typeof value === "string" || isTokens(value)) return 1
  const several = Array.isArray(value) && value.length > 0 && (value.every(isText) || value.every(isTokens))
  if (several) return value.length
  throw fieldMismatch("a string, an array of strings, an array of tokens or an array of such arrays, and not empty")
})
const temperature = optional("temperature", completionsMembers.temperature.read)
const topP = optional("top_p", completionsMembers.top_p.read)
const frequencyPenalty = optional("frequency_penalty", completionsMembers.frequency_penalty.read)
const presencePenalty = optional("presence_penalty", completionsMembers.presence_penalty.read)
/** 0 is for callers who only want the log probabilities of the prompt. */
const maxTokens = optional("max_tokens", completionsMembers.max_tokens.read)
const candidates = optional("n", completionsMembers.n.read)
const bestOf = optional("best_of", completionsMembers.best_of.read)
const suffix = optional("suffix", string)
const echo = optional("echo", boolean)
const logprobs = optional("logprobs", completionsMembers.logprobs.read)
const user = optional("user", string)
const stream = optional("stream", boolean)
const includeUsage = optional("include_usage", boolean)
const streamOptions = optional("stream_options", (value) => includeUsage(object(value).include_usage))

const strings = arrayOf(string)
const stop = optional("stop", (value) => {
  if (typeof value === "string") return
  if (!Array.isArray(value)) throw fieldMismatch("a string or an array of strings")
  strings(value)
})

function isText(value: Json): boolean {
  return typeof value === "string"
}

function isTokens(value: Json): boolean {
  const isToken = (token: Json) => typeof token === "number" && Number.isInteger(token) && token >= 0
  return Array.isArray(value) && value.length > 0 && value.every(isToken)
}

export function requestEdits(reading: RequestSummary, target: RelayTarget): JsonEdit[] {
  const edits = gatewayEdits(reading, target)
  if (reading.stream && !reading.usageRequested && target.streamUsage === "ask") {
    edits.push({ path: ["stream_options", "include_usage"], set: "true" })
  }
  return edits
}
