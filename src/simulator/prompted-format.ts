// Finds requests for JSON in the prompt: frameworks without a member for it write the format, and often the schema,
// there.
import { isObject, type JsonObject, parseJsonObject } from "../canonical/json.ts"
import type { AnswerFormat } from "./simulated-request.ts"

const JSON_REQUEST =
  /\b(?:as|in|only|return|returns|respond with|reply with|output|produce|valid)\s+(?:an?\s+)?(?:single\s+)?(?:valid\s+)?JSON\b|\bJSON (?:object|schema)\b/i
/** Bounds the search for a schema in a long prompt. */
const MAX_SCHEMAS = 20

/** The format that these texts request; undefined if they request none. */
export function findPromptedFormat(texts: readonly string[]): AnswerFormat | undefined {
  const requesting = texts.find((text) => JSON_REQUEST.test(text))
  if (requesting === undefined) return undefined
  const schema = schemaIn(requesting)
  return schema ? { schema } : {}
}

/** The first object in the text that is the schema of an object. */
function schemaIn(text: string): JsonObject | undefined {
  let tries = 0
  for (let start = text.indexOf("{"); start >= 0 && tries < MAX_SCHEMAS; start = text.indexOf("{", start + 1)) {
    tries++
    const value = objectAt(text, start)
    if (value && isObject(value.properties)) return value
  }
  return undefined
}

function objectAt(text: string, start: number): JsonObject | undefined {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth++
    else if (text[at] === "}" && --depth === 0) return parseJsonObject(text.slice(start, at + 1))
  }
  return undefined
}
