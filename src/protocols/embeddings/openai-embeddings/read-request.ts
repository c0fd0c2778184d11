// Checks an embeddings request and reads the members that the gateway needs.

import type { Json, JsonObject } from "../../../canonical/json.ts"
import { fieldMismatch, runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import { embeddingsMembers } from "../../body-schemas.ts"
import type { EmbeddingInputSummary, RequestEnvelope, RequestSummary } from "../../contract.ts"
import { optional, required, string } from "../../field-checks.ts"
import { readIdentifiers, readModelChoice, summarizeUnaryRequest } from "../../gateway-extension.ts"

export function readRequest(body: JsonObject, envelope?: Pick<RequestEnvelope, "rest">): RequestSummary {
  return runFieldChecks(() => {
    const { model, routing } = readModelChoice(body, { rest: envelope?.rest })
    const identifiers = readIdentifiers(body, ["user"])
    const embeds = input(body.input)
    dimensions(body.dimensions)
    const operation = encodingFormat(body.encoding_format) === "base64" ? PACKED : "embeddings"
    user(body.user)
    const outputLimits = { maxOutputTokens: 0, candidates: 1 }
    return { ...summarizeUnaryRequest({ operation, model, routing, outputLimits, identifiers }), embeds }
  })
}

const PACKED = "embeddings/base64"

/** True if vectors are requested in base64. */
export function isPacked(operation: string): boolean {
  return operation === PACKED
}

const dimensions = optional("dimensions", embeddingsMembers.dimensions.read)
const encodingFormat = optional("encoding_format", embeddingsMembers.encoding_format.read)
const user = optional("user", string)
const input = required("input", (value): EmbeddingInputSummary => {
  if (isText(value)) return { inputs: 1, hasTokens: false }
  if (isTokens(value)) return { inputs: 1, hasTokens: true }
  if (isListOf(value, isText)) return { inputs: value.length, hasTokens: false }
  if (isListOf(value, isTokens)) return { inputs: value.length, hasTokens: true }
  throw fieldMismatch("a string, an array of strings, an array of tokens or an array of such arrays, and not empty")
})

function isListOf(value: Json, isItem: (item: Json) => boolean): value is readonly Json[] {
  return Array.isArray(value) && value.length > 0 && value.every(isItem)
}

function isText(value: Json): boolean {
  return typeof value === "string" && value !== ""
}

export function isTokens(value: Json): value is readonly number[] {
  return isListOf(value, (token) => typeof token === "number" && Number.isInteger(token) && token >= 0)
}
