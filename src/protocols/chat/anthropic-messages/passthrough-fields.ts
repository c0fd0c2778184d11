// Restores this protocol's own passthrough fields and reports those of other protocols as losses.

import type { Json, JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../../canonical/passthrough-fields.ts"
import { dropped, memberPath } from "../../losses.ts"

export const PROTOCOL = "anthropic-messages"

const NOTHING: JsonObject = {}

export interface AnthropicPassthrough extends PassthroughFields {
  readonly protocol: typeof PROTOCOL
  /** The list of remote servers, which other protocols have in the tools. */
  readonly servers?: Json
  /**
   * The block from which a text was made for other protocols. It is outside `members`, so that no loss is reported for
   * it.
   */
  readonly block?: JsonObject
}

export function isOwn(extra: PassthroughFields | undefined): extra is AnthropicPassthrough {
  return extra?.protocol === PROTOCOL
}

export function ownExtra(members: JsonObject, block: JsonObject): AnthropicPassthrough {
  return { protocol: PROTOCOL, members, block }
}

/** The passthrough fields of this protocol; those of others are reported as lost. */
export function ownMembers(
  extra: PassthroughFields | undefined,
  { at, losses }: { at: string; losses: Losses },
): JsonObject {
  if (!extra) return NOTHING
  if (isOwn(extra)) return extra.members
  for (const name of presentFieldNames(extra)) {
    losses.push(dropped.hint(memberPath(at, name), "the messages protocol has no such member"))
  }
  return NOTHING
}
