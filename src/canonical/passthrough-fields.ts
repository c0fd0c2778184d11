// Fields that a decoder does not claim are kept and returned to their own protocol, so that none is lost by omission.
import type { Json, JsonObject } from "./json.ts"

/** Members of one protocol's object without a canonical counterpart. */
export interface PassthroughFields {
  readonly protocol: string
  readonly members: JsonObject
}

/** The names of the fields that are not null: a null member means the same as an absent one. */
export function presentFieldNames({ members }: PassthroughFields): string[] {
  return Object.keys(members).filter((name) => members[name] !== null)
}

export interface FieldClaim {
  /** Claims the member and returns its value; undefined if absent or null. */
  take(name: string): Json | undefined
  /** The unclaimed members; undefined if there are none. */
  rest(protocol: string): PassthroughFields | undefined
}

export function claimFields(object: JsonObject): FieldClaim {
  const taken = new Set<string>()
  return {
    take(name) {
      taken.add(name)
      return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
    },
    rest(protocol) {
      const left = Object.entries(object).filter(([name]) => !taken.has(name))
      return left.length === 0 ? undefined : { protocol, members: Object.fromEntries(left) }
    },
  }
}
