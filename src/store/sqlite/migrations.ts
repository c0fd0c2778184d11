// The schema as a list of migrations. A released migration never changes; new ones are appended.
import { initialIndexes, initialRows, initialTables, initialTriggers, initialViews } from "./initial-schema.ts"

/** The version of the first migration's schema. Stores with a lower one are from before the first release. */
export const INITIAL_VERSION = 17

export const migrations: readonly string[] = [
  initialTables + initialIndexes + initialRows + initialTriggers + initialViews,
]
