// Restores this protocol's own passthrough fields and reports those of other protocols as losses.

import type { Json, JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../../canonical/passthrough-fields.ts"
import { dropped, memberPath } from "../../losses.ts"
import { type JsonDraft, joinMembers } from "../../openai/field-reader.ts"

export const PROTOCOL = "openai-chat"

/**
 * The form in which the caller wrote members that this protocol can write in several ways. It does not change the
 * meaning, so it is outside `members` and no loss is reported for it.
 */
export interface ChatWriting {
  /** The name that was used if there is an alternative. */
  readonly word?: string
  /** Content as a list of parts, or as a string that is empty; a string otherwise. */
  readonly content?: "list" | "empty"
  /** Members with their default values. */
  readonly plain?: JsonObject
  readonly limit?: string
  readonly stop?: "text"
  readonly endUser?: string
  readonly usageRequested?: boolean
  /** Tools as `functions`. */
  readonly legacy?: true
  /** The message that an instruction's part begins. */
  readonly opens?: { readonly role: string; readonly content?: "list"; readonly members?: readonly string[] }
  /** A block in another host's shape, unchanged. */
  readonly as?: Json
}

interface ChatPassthrough extends PassthroughFields {
  readonly written?: ChatWriting
}

export function isOwn(extra: PassthroughFields | undefined): extra is ChatPassthrough {
  return extra?.protocol === PROTOCOL
}

const DEFAULT_WRITING: ChatWriting = {}

export function writingOf(extra: PassthroughFields | undefined): ChatWriting {
  return (isOwn(extra) && extra.written) || DEFAULT_WRITING
}

/** Passthrough fields with `members` and `written`; undefined if both are empty. */
export function ownExtra(members: JsonObject, written: ChatWriting = DEFAULT_WRITING): ChatPassthrough | undefined {
  const isUsual = Object.keys(written).length === 0
  if (isUsual && Object.keys(members).length === 0) return undefined
  return { protocol: PROTOCOL, members, ...(!isUsual && { written }) }
}

/** Restores passthrough fields of this protocol; those of another are reported as lost. */
export function restorePassthrough(
  draft: JsonDraft,
  extra: PassthroughFields | undefined,
  { at, losses }: { at: string; losses: Losses },
): JsonDraft {
  if (!extra) return draft
  if (isOwn(extra)) return joinMembers(draft, extra.members)
  for (const name of presentFieldNames(extra)) {
    losses.push(dropped.hint(memberPath(at, name), "chat completions has no such member"))
  }
  return draft
}
