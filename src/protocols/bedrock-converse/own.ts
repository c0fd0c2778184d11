// The protocol's name, and the naming of what rides along from other protocols and cannot be said in this one.
import { type Extra, saidIn } from "../../canonical/extra.ts"
import type { Losses } from "../../canonical/loss.ts"
import { dropped, member } from "../losses.ts"

export const PROTOCOL = "bedrock-converse"

/** Each member that has no canonical word. No client speaks this protocol, so all of them are another's. */
export function reportExtra(extra: Extra | undefined, { at, losses }: { at: string; losses: Losses }): void {
  if (!extra) return
  for (const name of saidIn(extra)) {
    losses.push(dropped.hint(member(at, name), "the Converse protocol has no such member"))
  }
}
