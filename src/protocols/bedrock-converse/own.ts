// The protocol's name, and the naming of what rides along from other protocols and cannot be said in this one.
import { type Extra, saidIn } from "../../canonical/extra.ts"
import type { Loss, Losses } from "../../canonical/loss.ts"

export const PROTOCOL = "bedrock-converse"

/** Each member that has no canonical word. No client speaks this protocol, so all of them are another's. */
export function reportExtra(extra: Extra | undefined, { at, losses }: { at: string; losses: Losses }): void {
  if (!extra) return
  for (const name of saidIn(extra)) {
    losses.push(dropped.hint(member(at, name), "the Converse protocol has no such member"))
  }
}

export function member(at: string | undefined, name: string): string {
  return at === undefined || at === "" ? name : `${at}.${name}`
}

type Report = Readonly<Record<Loss["weight"], (path: string, why: string) => Loss>>

export const dropped: Report = {
  hint: (path, why) => ({ path, weight: "hint", how: "dropped", why }),
  meaning: (path, why) => ({ path, weight: "meaning", how: "dropped", why }),
}

export const approximated: Report = {
  hint: (path, why) => ({ path, weight: "hint", how: "approximated", why }),
  meaning: (path, why) => ({ path, weight: "meaning", how: "approximated", why }),
}
