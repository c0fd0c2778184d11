// Reads the counts of a usage report, whoever wrote it.
import { isObject, type JsonObject } from "../canonical/json.ts"

/** A token count as the upstream gave it; what is no count is as if it were not there. */
export function count(wire: JsonObject, name: string): number | undefined {
  const value = wire[name]
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The object in which a report tells its counts apart; empty where it does not. */
export function detail(wire: JsonObject, name: string): JsonObject {
  const details = wire[name]
  return isObject(details) ? details : {}
}
