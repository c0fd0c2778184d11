// The result of a function call, which is a JSON object in this protocol: by convention `output` or `error`.

import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"

interface FunctionResult {
  readonly text: string
  readonly isError: boolean
}

/** A single string is the text; anything else is the object's JSON. */
export function decodeResult(response: JsonObject): FunctionResult {
  const { output, error } = response
  const isError = error !== undefined && error !== null
  const lone = Object.keys(response).length === 1 ? (isError ? error : output) : undefined
  // A text that looks like an object would come back as one, so it stays inside its own.
  if (typeof lone === "string" && parseExactObject(lone) === undefined) return { text: lone, isError }
  return { text: JSON.stringify(response), isError }
}

export function encodeResult({ text, isError }: FunctionResult): JsonObject {
  const parsed = parseExactObject(text)
  if (!isError) return parsed ?? { output: text }
  return parsed?.error !== undefined && parsed.error !== null ? parsed : { error: text }
}

/** Parses an object; undefined if the text is not one, or parsing would change its numbers. */
export function parseExactObject(text: string): JsonObject | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  return !/\d{16}/.test(text) || JSON.stringify(value) === text ? value : undefined
}
