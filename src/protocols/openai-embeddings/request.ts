// Checks an embeddings request and reads the few members the gateway acts on.
import type { Json, JsonObject } from "../../canonical/json.ts"
import { checked, integer, misfit, nonEmptyString, oneOf, optional, required, string } from "../check.ts"
import type { Reading } from "../contract.ts"
import { readRouting, refuseDestinations, wholeAnswer } from "../extension.ts"

export function readRequest(body: JsonObject): Reading {
  return checked(() => {
    refuseDestinations(body)
    const named = model(body.model)
    input(body.input)
    dimensions(body.dimensions)
    encodingFormat(body.encoding_format)
    user(body.user)
    const asks = { maxOutputTokens: 0, candidates: 1 }
    return wholeAnswer({ operation: "embeddings", model: named, routing: readRouting(body.provider), asks })
  })
}

const model = required("model", nonEmptyString)
const dimensions = optional("dimensions", integer({ min: 1 }))
const encodingFormat = optional("encoding_format", oneOf(["float", "base64"]))
const user = optional("user", string)
const input = required("input", (value) => {
  if (typeof value === "string" && value !== "") return
  if (!isListOf(value, isText) && !isTokens(value) && !isListOf(value, isTokens)) {
    throw misfit("a string, an array of strings, an array of tokens or an array of such arrays, and not empty")
  }
})

function isListOf(value: Json, isItem: (item: Json) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isItem)
}

function isText(value: Json): boolean {
  return typeof value === "string" && value !== ""
}

function isTokens(value: Json): boolean {
  return isListOf(value, (token) => typeof token === "number" && Number.isInteger(token) && token >= 0)
}
