// How many connections a process may have by the system's limit on its open files.
import { readFileSync } from "node:fs"

/** The rest is for connections to providers, and for files. */
const SHARE_OF_CLIENTS = 0.6

/** The wanted number, or fewer if the process limit is lower. */
export function connectionsWithin(wanted: number, limits: string = readLimits()): number {
  const limit = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return limit === undefined ? wanted : Math.max(1, Math.min(wanted, Math.floor(Number(limit) * SHARE_OF_CLIENTS)))
}

/** Empty where the system does not tell. */
function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8")
  } catch {
    return ""
  }
}
