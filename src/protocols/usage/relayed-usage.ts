// The usage that a relayed answer reports, and the place for what is counted here where it reports none.
import type { JsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import { asciiOf, spliceJson } from "../../transport/json/json-splice.ts"
import type { RelayedResponse } from "../contract.ts"

interface UsageReporting {
  readonly usage: Usage | undefined
  /** The member with the usage. */
  readonly member: string
  encodeUsage(usage: Usage): JsonObject
}

/** `text` is the answer as it passes. */
export function relayedUsage(
  text: string,
  { usage, member, encodeUsage }: UsageReporting,
): Pick<RelayedResponse, "usage" | "withUsage"> {
  if (usage) return { usage }
  return { withUsage: (counted) => spliceJson(text, [{ path: [member], set: asciiOf(encodeUsage(counted)) }]) }
}
