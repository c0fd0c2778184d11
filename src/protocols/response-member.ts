// Parses one member of a response without the rest.
import type { Json } from "../canonical/json.ts"
import { findMember, type JsonOutline } from "../transport/json/json-scan.ts"

/** A string member without escapes; undefined otherwise. */
export function memberText(text: string, outlined: JsonOutline, name: string): string | undefined {
  const found = findMember(outlined, name)
  if (!found || text.charCodeAt(found.valueStart) !== QUOTE) return undefined
  const value = text.slice(found.valueStart + 1, found.end - 1)
  return value.includes("\\") ? undefined : value
}

const QUOTE = 0x22

/** Undefined if it is absent or invalid. Its strings are still byte text. */
export function memberValue(text: string, outlined: JsonOutline, name: string): Json | undefined {
  const found = findMember(outlined, name)
  if (!found) return undefined
  try {
    return JSON.parse(text.slice(found.valueStart, found.end))
  } catch {
    return undefined
  }
}
