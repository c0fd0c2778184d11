// The usage that a relayed answer reports, and the place for what is counted here where it reports none.
import type { JsonObject } from "../canonical/json.ts"
import type { Usage } from "../canonical/usage.ts"
import { asciiOf, splice } from "../transport/json-splice.ts"
import type { RelayedAnswer } from "./contract.ts"

interface Reporting {
  readonly usage: Usage | undefined
  /** The member that tells it. */
  readonly member: string
  encodeUsage(usage: Usage): JsonObject
}

/** `text` is the answer as it passes. */
export function usageReported(
  text: string,
  { usage, member, encodeUsage }: Reporting,
): Pick<RelayedAnswer, "usage" | "withUsage"> {
  if (usage) return { usage }
  return { withUsage: (counted) => splice(text, [{ path: [member], set: asciiOf(encodeUsage(counted)) }]) }
}
