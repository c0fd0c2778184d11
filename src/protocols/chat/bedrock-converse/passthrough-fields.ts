// The protocol's name, and reports of passthrough fields from other protocols.

import type { Losses } from "../../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../../canonical/passthrough-fields.ts"
import { dropped, memberPath } from "../../losses.ts"

export const PROTOCOL = "bedrock-converse"

/** Reports each passthrough field. No client speaks this protocol, so all of them come from other protocols. */
export function reportForeignFields(
  extra: PassthroughFields | undefined,
  { at, losses }: { at: string; losses: Losses },
): void {
  if (!extra) return
  for (const name of presentFieldNames(extra)) {
    losses.push(dropped.hint(memberPath(at, name), "the Converse protocol has no such member"))
  }
}
