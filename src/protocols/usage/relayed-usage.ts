// The usage of a relayed response, or the means to add counted usage if it reports none.
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

/** `text` is the response as it is forwarded. */
export function relayedUsage(
  text: string,
  { usage, member, encodeUsage }: UsageReporting,
): Pick<RelayedResponse, "usage" | "withUsage"> {
  if (usage) return { usage }
  return { withUsage: (counted) => spliceJson(text, [{ path: [member], set: asciiOf(encodeUsage(counted)) }]) }
}
