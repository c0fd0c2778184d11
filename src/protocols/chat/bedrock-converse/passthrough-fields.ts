// The protocol's name, and the naming of what rides along from other protocols and cannot be said in this one.

import type { Losses } from "../../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../../canonical/passthrough-fields.ts"
import { dropped, memberPath } from "../../losses.ts"

export const PROTOCOL = "bedrock-converse"

/** Each member that has no canonical word. No client speaks this protocol, so all of them are another's. */
export function reportForeignFields(
  extra: PassthroughFields | undefined,
  { at, losses }: { at: string; losses: Losses },
): void {
  if (!extra) return
  for (const name of presentFieldNames(extra)) {
    losses.push(dropped.hint(memberPath(at, name), "the Converse protocol has no such member"))
  }
}
