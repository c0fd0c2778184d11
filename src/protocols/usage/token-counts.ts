// Reads the counts of a usage report in any protocol.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"

/** A token count as the upstream reported it; an invalid count is treated as absent. */
export function readTokenCount(wire: JsonObject, name: string): number | undefined {
  const value = wire[name]
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The details object of a report; empty if it has none. */
export function readCountDetails(wire: JsonObject, name: string): JsonObject {
  const details = wire[name]
  return isObject(details) ? details : {}
}

/** The counts of a report; empty if none of its counts is a number, undefined if it has no counts. */
export function reportedUsage(wire: JsonObject, counted: Usage): Usage | undefined {
  if (counted.input !== undefined || counted.output !== undefined) return counted
  const hasCount = Object.entries(wire).some(([name, value]) => COUNT_NAME.test(name) && value !== null)
  return hasCount || Object.keys(counted).length > 0 ? counted : undefined
}

const COUNT_NAME = /(_tokens|Tokens|TokenCount)$/
