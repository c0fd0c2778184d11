// Builds losses, with their weight.
import { isObject, type Json } from "../canonical/json.ts"
import type { Loss } from "../canonical/loss.ts"

export function memberPath(at: string | undefined, name: string): string {
  return at === undefined || at === "" ? name : `${at}.${name}`
}

type LossBuilders = Readonly<Record<Loss["weight"], (path: string, why: string) => Loss>>

export const dropped: LossBuilders = {
  hint: (path, why) => ({ path, weight: "hint", how: "dropped", why }),
  meaning: (path, why) => ({ path, weight: "meaning", how: "dropped", why }),
}

export const approximated: LossBuilders = {
  hint: (path, why) => ({ path, weight: "hint", how: "approximated", why }),
  meaning: (path, why) => ({ path, weight: "meaning", how: "approximated", why }),
}

/** The paths in an event that only its own protocol knows. */
export function foreignPaths(value: Json): string[] {
  return isObject(value) ? Object.keys(value) : ["stream"]
}
