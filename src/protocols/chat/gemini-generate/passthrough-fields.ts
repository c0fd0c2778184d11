// Reads an object's members in either of the vendor's two spellings, and restores members that were not read.

import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import {
  claimFields,
  type FieldClaim,
  type PassthroughFields,
  presentFieldNames,
} from "../../../canonical/passthrough-fields.ts"

export const PROTOCOL = "gemini-generate"

/** An object as it is being written. */
export type GeminiDraft = { [member: string]: Json }

/** A member for which `read` returns undefined is not claimed and passes through unchanged. */
export class GeminiFieldReader {
  private readonly claimed: FieldClaim
  /** Unclaimed members of nested objects, by the name of the object. */
  private readonly inner: GeminiDraft = {}

  constructor(private readonly object: JsonObject) {
    this.claimed = claimFields(object)
  }

  /** `read` gets the name as it is spelled. A null member counts as absent. */
  take<T>(name: string, read: (value: Json, spelling: string) => T | undefined): T | undefined {
    for (const spelling of spellings(name)) {
      if (!Object.hasOwn(this.object, spelling)) continue
      const value = this.object[spelling] ?? null
      const taken = value === null ? undefined : read(value, spelling)
      if (value === null || taken !== undefined) this.claimed.take(spelling)
      if (value !== null) return taken
    }
    return undefined
  }

  /** A member that is an object; its unclaimed members pass through under its name. */
  within<T>(name: string, read: (members: GeminiFieldReader, spelling: string) => T | undefined): T | undefined {
    return this.take(name, (value, spelling) => {
      if (!isObject(value)) return undefined
      const members = new GeminiFieldReader(value)
      const taken = read(members, spelling)
      const rest = members.rest()
      if (taken !== undefined && rest) this.inner[spelling] = rest.members
      return taken
    })
  }

  rest(): PassthroughFields | undefined {
    const rest = this.claimed.rest(PROTOCOL)
    if (Object.keys(this.inner).length === 0) return rest
    return { protocol: PROTOCOL, members: { ...rest?.members, ...this.inner } }
  }
}

const known = new Map<string, readonly string[]>()

function spellings(name: string): readonly string[] {
  const found = known.get(name)
  if (found) return found
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const both = snake === name ? [name] : [name, snake]
  known.set(name, both)
  return both
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Adds passthrough fields to the encoded object; if both have an object, its members are merged. */
export function restorePassthrough(written: JsonObject, extra: PassthroughFields | undefined): JsonObject {
  if (!extra || extra.protocol !== PROTOCOL) return written
  const all = new Map(Object.entries(written))
  for (const [name, value] of Object.entries(extra.members)) {
    const key = all.has(name) ? name : camel(name)
    const existing = all.get(key)
    if (existing === undefined) all.set(name, value)
    else if (isObject(existing) && isObject(value))
      all.set(key, restorePassthrough(existing, { protocol: PROTOCOL, members: value }))
  }
  return Object.fromEntries(all)
}

/** True if a part comes from a request of this protocol, so that it returns unchanged. */
export function isNative(at: string | undefined): boolean {
  return at !== undefined && /^(?:contents\[|system_?instruction\b)/i.test(at)
}

export function text(value: Json): string | undefined {
  return typeof value === "string" ? value : undefined
}

export function finite(value: Json): number | undefined {
  return typeof value === "number" ? value : undefined
}

/** Counts are 64-bit integers on this wire, which some write as text. */
export function whole(value: Json): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === "number" && Number.isInteger(number) ? number : undefined
}

export function object(value: Json): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

/** The vendor accepts a single object as an array of one. */
export function list(value: Json): readonly Json[] | undefined {
  if (Array.isArray(value)) return value
  return isObject(value) ? [value] : undefined
}

/** Reports each passthrough field of another protocol. */
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
