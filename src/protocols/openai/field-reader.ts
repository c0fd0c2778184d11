// Shared by OpenAI's two chat protocols: reads and writes objects member by member, keeps passthrough fields, and
// reports losses.

import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { claimFields } from "../../canonical/passthrough-fields.ts"

/** An object as it is being written. */
export type JsonDraft = { [member: string]: Json }

/** Reads an object's members. Unclaimed members pass through; null counts as absent. */
export class FieldReader {
  private readonly claimed
  /** Unclaimed members of nested objects, by path. */
  private readonly inner: JsonDraft = {}

  constructor(readonly object: JsonObject) {
    this.claimed = claimFields(object)
  }

  take<T>(name: string, read: (value: Json) => T | undefined): T | undefined {
    if (!Object.hasOwn(this.object, name)) return undefined
    const value = this.object[name] ?? null
    const taken = value === null ? undefined : read(value)
    if (value === null || taken !== undefined) this.claimed.take(name)
    return taken
  }

  /** Reads a member without claiming it. */
  peek<T>(name: string, read: (value: Json) => T | undefined): T | undefined {
    const value = Object.hasOwn(this.object, name) ? (this.object[name] ?? null) : null
    return value === null ? undefined : read(value)
  }

  /** A member that is an object; its unclaimed members pass through under `name.member`. */
  within<T>(name: string, read: (fields: FieldReader) => T | undefined): T | undefined {
    return this.take(name, (value) => {
      if (!isObject(value)) return undefined
      const fields = new FieldReader(value)
      const taken = read(fields)
      if (taken === undefined) return undefined
      for (const [member, left] of Object.entries(fields.rest())) this.inner[`${name}.${member}`] = left
      return taken
    })
  }

  rest(): JsonObject {
    const left = Object.entries(this.claimed.rest("")?.members ?? {}).filter(([, value]) => value !== null)
    return { ...Object.fromEntries(left), ...this.inner }
  }
}

export function text(value: Json): string | undefined {
  return typeof value === "string" ? value : undefined
}

export function finite(value: Json): number | undefined {
  return typeof value === "number" ? value : undefined
}

export function flag(value: Json): boolean | undefined {
  return typeof value === "boolean" ? value : undefined
}

export function object(value: Json): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

export function list(value: Json): readonly Json[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** A dotted name refers to a nested object; if both have an object, the encoded members stay. */
export function joinMembers(draft: JsonDraft, members: JsonObject): JsonDraft {
  for (const [name, value] of Object.entries(members)) {
    const dot = name.indexOf(".")
    const inner = dot < 0 ? undefined : draft[name.slice(0, dot)]
    if (isObject(inner)) draft[name.slice(0, dot)] = joinMembers({ ...inner }, { [name.slice(dot + 1)]: value })
    else define(draft, name, isObject(draft[name]) && isObject(value) ? { ...value, ...draft[name] } : value)
  }
  return draft
}

/** A member called `__proto__` is a member like any other. */
function define(draft: JsonDraft, name: string, value: Json): void {
  Object.defineProperty(draft, name, { value, enumerable: true, configurable: true, writable: true })
}
