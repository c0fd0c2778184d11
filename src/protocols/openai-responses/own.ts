// What is this protocol's own among what rides along in a canonical request or answer, and the naming of what is not.
import { claim, type Extra, saidIn } from "../../canonical/extra.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Loss, Losses } from "../../canonical/loss.ts"

export const PROTOCOL = "openai-responses"

/** An object as it is being written. */
export type Draft = { [member: string]: Json }

/**
 * How the caller wrote what this protocol has several ways to write. It is no part of what is said, so it stands beside
 * the members: no other protocol loses anything by it.
 */
export interface Written {
  /** What kind of item a turn was, where it was one alone. */
  readonly item?: "message" | "custom_tool_call_output" | "local_shell_call_output" | "other"
  /** The word that was used where there is another. */
  readonly word?: string
  /** Content as a list of parts, or as a string that is empty; a string otherwise. */
  readonly content?: "list" | "empty"
  /** Members that say what would be said without them. */
  readonly plain?: JsonObject
  /** What is asked to be told beside the answer. */
  readonly include?: readonly string[]
  readonly endUser?: string
  /** How much of the reasoning is summed up. */
  readonly summary?: string
  /** Whether `text` was there, if with nothing in it. */
  readonly text?: true
  /** Whether alternatives to tokens were not counted, which are asked for without. */
  readonly alternatives?: "absent"
  /** A tool or a call of one: the set it stands in, and its name there. */
  readonly namespace?: Namespaced
  /** The message that an instruction's part begins. */
  readonly opens?: Opening
  /** What the canonical form says otherwise, as it came. */
  readonly as?: Json
}

export interface Namespaced {
  readonly name: string
  /** Where a set of tools stood, and what it said of itself. */
  readonly at?: string
  readonly members?: JsonObject
  /** The name within the set. */
  readonly inner: string
}

interface Opening {
  readonly role: string
  readonly content?: "list"
  readonly plain?: JsonObject
  readonly members?: readonly string[]
}

interface OwnExtra extends Extra {
  readonly written?: Written
}

export function isOwn(extra: Extra | undefined): extra is OwnExtra {
  return extra?.protocol === PROTOCOL
}

const AS_USUAL: Written = {}

export function writtenIn(extra: Extra | undefined): Written {
  return (isOwn(extra) && extra.written) || AS_USUAL
}

/** `members` and `written` as an extra; undefined where there is nothing to remember. */
export function ownExtra(members: JsonObject, written: Written = AS_USUAL): OwnExtra | undefined {
  const isUsual = Object.keys(written).length === 0
  if (isUsual && Object.keys(members).length === 0) return undefined
  return { protocol: PROTOCOL, members, ...(!isUsual && { written }) }
}

/** Reads an object's members. What nobody makes anything of rides along; null counts as absent. */
export class Fields {
  private readonly claimed
  /** What the objects inside left over, by the path to it. */
  private readonly inner: Draft = {}

  constructor(readonly object: JsonObject) {
    this.claimed = claim(object)
  }

  take<T>(name: string, read: (value: Json) => T | undefined): T | undefined {
    if (!Object.hasOwn(this.object, name)) return undefined
    const value = this.object[name] ?? null
    const taken = value === null ? undefined : read(value)
    if (value === null || taken !== undefined) this.claimed.take(name)
    return taken
  }

  /** What `read` makes of a member, which stays untaken. */
  peek<T>(name: string, read: (value: Json) => T | undefined): T | undefined {
    const value = Object.hasOwn(this.object, name) ? (this.object[name] ?? null) : null
    return value === null ? undefined : read(value)
  }

  /** A member that is an object; what is not taken of it rides along under `name.member`. */
  within<T>(name: string, read: (fields: Fields) => T | undefined): T | undefined {
    return this.take(name, (value) => {
      if (!isObject(value)) return undefined
      const fields = new Fields(value)
      const taken = read(fields)
      if (taken === undefined) return undefined
      for (const [member, left] of Object.entries(fields.rest())) this.inner[`${name}.${member}`] = left
      return taken
    })
  }

  rest(): JsonObject {
    const left = Object.entries(this.claimed.rest(PROTOCOL)?.members ?? {}).filter(([, value]) => value !== null)
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

/** Puts back what rode along from this protocol; what did from another is named as lost. */
export function putBack(draft: Draft, extra: Extra | undefined, { at, losses }: { at: string; losses: Losses }): Draft {
  if (!extra) return draft
  if (isOwn(extra)) return join(draft, extra.members)
  for (const name of saidIn(extra)) {
    losses.push(dropped(member(at, name), "hint", "the responses interface has no such member"))
  }
  return draft
}

/** A name with dots leads into the objects that are there; where both speak of an object, what was written stays. */
export function join(draft: Draft, members: JsonObject): Draft {
  for (const [name, value] of Object.entries(members)) {
    const dot = name.indexOf(".")
    const inner = dot < 0 ? undefined : draft[name.slice(0, dot)]
    if (isObject(inner)) draft[name.slice(0, dot)] = join({ ...inner }, { [name.slice(dot + 1)]: value })
    else define(draft, name, isObject(draft[name]) && isObject(value) ? { ...value, ...draft[name] } : value)
  }
  return draft
}

/** A member called `__proto__` is a member like any other. */
function define(draft: Draft, name: string, value: Json): void {
  Object.defineProperty(draft, name, { value, enumerable: true, configurable: true, writable: true })
}

export function member(at: string | undefined, name: string): string {
  return at === undefined || at === "" ? name : `${at}.${name}`
}

export function dropped(path: string, weight: Loss["weight"], why: string): Loss {
  return { path, weight, how: "dropped", why }
}

export function approximated(path: string, weight: Loss["weight"], why: string): Loss {
  return { path, weight, how: "approximated", why }
}
