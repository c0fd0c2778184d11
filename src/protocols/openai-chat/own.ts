// What is this protocol's own among what rides along in a canonical request or answer, and the naming of what is not.
import { type Extra, saidIn } from "../../canonical/extra.ts"
import type { Json, JsonObject } from "../../canonical/json.ts"
import type { Losses } from "../../canonical/loss.ts"
import { type Draft, dropped, join, member } from "../openai-fields.ts"

export const PROTOCOL = "openai-chat"

/**
 * How the caller wrote what this protocol has several ways to write. It is no part of what is said, so it stands beside
 * the members: no other protocol loses anything by it.
 */
export interface Written {
  /** The word that was used where there is another. */
  readonly word?: string
  /** Content as a list of parts, or as a string that is empty; a string otherwise. */
  readonly content?: "list" | "empty"
  /** Members that say what would be said without them. */
  readonly plain?: JsonObject
  readonly limit?: string
  readonly stop?: "text"
  readonly endUser?: string
  readonly usageAsked?: boolean
  /** Tools as `functions`. */
  readonly legacy?: true
  /** The message that an instruction's part begins. */
  readonly opens?: { readonly role: string; readonly content?: "list"; readonly members?: readonly string[] }
  /** A block whose shape is not OpenAI's, as it came. */
  readonly as?: Json
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

/** Puts back what rode along from this protocol; what did from another is named as lost. */
export function putBack(draft: Draft, extra: Extra | undefined, { at, losses }: { at: string; losses: Losses }): Draft {
  if (!extra) return draft
  if (isOwn(extra)) return join(draft, extra.members)
  for (const name of saidIn(extra)) {
    losses.push(dropped(member(at, name), "hint", "chat completions has no such member"))
  }
  return draft
}
