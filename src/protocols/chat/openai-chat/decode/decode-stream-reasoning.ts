// Merges OpenRouter's streamed reasoning details: text grows, and a signature arrives at the end.
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"

const GROWING = ["text", "summary", "data"] as const

/** Merges a delta's details. Details of one delta stay separate. */
export function mergeDetails(known: JsonObject[], brought: readonly Json[]): void {
  const before = known.length
  for (const detail of brought) {
    if (!isObject(detail)) continue
    const at = known.findLastIndex((each, place) => place < before && isSame(each, detail))
    if (at < 0) known.push(detail)
    else known[at] = mergeDetail(known[at] as JsonObject, detail)
  }
}

function isSame(one: JsonObject, other: JsonObject): boolean {
  return one.type === other.type && one.index === other.index && (one.id ?? other.id) === (other.id ?? one.id)
}

function mergeDetail(known: JsonObject, more: JsonObject): JsonObject {
  const all: { [member: string]: Json } = { ...known }
  for (const [name, value] of Object.entries(more)) {
    const grows = GROWING.some((each) => each === name) && typeof known[name] === "string" && typeof value === "string"
    if (grows) all[name] = `${known[name]}${value}`
    else if (value !== null || known[name] === undefined) all[name] = value
  }
  return all
}
