// Reads the counts of a usage report, whoever wrote it.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"

/** A token count as the upstream gave it; what is no count is as if it were not there. */
export function readTokenCount(wire: JsonObject, name: string): number | undefined {
  const value = wire[name]
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The object in which a report tells its counts apart; empty where it does not. */
export function readCountDetails(wire: JsonObject, name: string): JsonObject {
  const details = wire[name]
  return isObject(details) ? details : {}
}

/** What a report comes to: what was counted, nothing where it tells none of its counts in numbers, undefined where it tells none. */
export function reportedUsage(wire: JsonObject, counted: Usage): Usage | undefined {
  if (counted.input !== undefined || counted.output !== undefined) return counted
  const hasCount = Object.entries(wire).some(([name, value]) => COUNT_NAME.test(name) && value !== null)
  return hasCount || Object.keys(counted).length > 0 ? counted : undefined
}

const COUNT_NAME = /(_tokens|Tokens|TokenCount)$/
