// One member of an answer, parsed without the rest of it.
import type { Json } from "../canonical/json.ts"
import { findMember, type JsonOutline } from "../transport/json/json-scan.ts"

/** A member that is a string without escapes; undefined where it is not. */
export function memberText(text: string, outlined: JsonOutline, name: string): string | undefined {
  const found = findMember(outlined, name)
  if (!found || text.charCodeAt(found.valueStart) !== QUOTE) return undefined
  const value = text.slice(found.valueStart + 1, found.end - 1)
  return value.includes("\\") ? undefined : value
}

const QUOTE = 0x22

/** Undefined where it is absent or no JSON. Strings in it are byte text still. */
export function memberValue(text: string, outlined: JsonOutline, name: string): Json | undefined {
  const found = findMember(outlined, name)
  if (!found) return undefined
  try {
    return JSON.parse(text.slice(found.valueStart, found.end))
  } catch {
    return undefined
  }
}
