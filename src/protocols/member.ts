// One member of an answer, parsed without the rest of it.
import type { Json } from "../canonical/json.ts"
import { findMember, type Outline } from "../transport/json-scan.ts"

/** Undefined where it is absent or no JSON. Strings in it are byte text still. */
export function memberValue(text: string, outlined: Outline, name: string): Json | undefined {
  const found = findMember(outlined, name)
  if (!found) return undefined
  try {
    return JSON.parse(text.slice(found.valueStart, found.end))
  } catch {
    return undefined
  }
}
