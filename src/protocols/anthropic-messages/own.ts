// What is this protocol's own among what rides along in a canonical request or answer, and the naming of what is not.
import { type Extra, saidIn } from "../../canonical/extra.ts"
import type { JsonObject } from "../../canonical/json.ts"
import type { Losses } from "../../canonical/loss.ts"
import { dropped, member } from "../losses.ts"

export const PROTOCOL = "anthropic-messages"

const NOTHING: JsonObject = {}

export function isOwn(extra: Extra | undefined): extra is Extra & { readonly protocol: typeof PROTOCOL } {
  return extra?.protocol === PROTOCOL
}

/** The members that came from this protocol and go back to it; those of another are named as lost. */
export function ownMembers(extra: Extra | undefined, { at, losses }: { at: string; losses: Losses }): JsonObject {
  if (!extra) return NOTHING
  if (isOwn(extra)) return extra.members
  for (const name of saidIn(extra)) {
    losses.push(dropped.hint(member(at, name), "the messages protocol has no such member"))
  }
  return NOTHING
}
