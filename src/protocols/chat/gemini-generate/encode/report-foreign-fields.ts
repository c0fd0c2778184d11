// Names what another protocol's request holds that this one has no place for.

import type { Losses } from "../../../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../../../canonical/passthrough-fields.ts"
import { PROTOCOL } from "../passthrough-fields.ts"

/** Each member that came from another protocol and has no canonical word. */
export function reportForeignFields(
  extra: PassthroughFields | undefined,
  { at, losses }: { at: string; losses: Losses },
): void {
  if (!extra || extra.protocol === PROTOCOL) return
  for (const name of presentFieldNames(extra)) {
    const path = at === "" ? name : `${at}.${name}`
    losses.push({
      path,
      weight: "hint",
      how: "dropped",
      why: `Gemini has no counterpart to this member of ${extra.protocol}.`,
    })
  }
}
