// What is this protocol's own among what rides along in a canonical request or answer, and the naming of what is not.

import type { Json, JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../../canonical/passthrough-fields.ts"
import { dropped, memberPath } from "../../losses.ts"
import { type JsonDraft, joinMembers } from "../../openai/field-reader.ts"

export const PROTOCOL = "openai-responses"

/**
 * How the caller wrote what this protocol has several ways to write. It is no part of what is said, so it stands beside
 * the members: no other protocol loses anything by it.
 */
export interface ResponsesWriting {
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
  readonly namespace?: ToolNamespace
  /** The message that an instruction's part begins. */
  readonly opens?: OpeningMessage
  /** What the canonical form says otherwise, as it came. */
  readonly as?: Json
}

export interface ToolNamespace {
  readonly name: string
  /** Where a set of tools stood, and what it said of itself. */
  readonly at?: string
  readonly members?: JsonObject
  /** The name within the set. */
  readonly inner: string
}

interface OpeningMessage {
  readonly role: string
  readonly content?: "list"
  readonly plain?: JsonObject
  readonly members?: readonly string[]
}

interface ResponsesPassthrough extends PassthroughFields {
  readonly written?: ResponsesWriting
}

export function isOwn(extra: PassthroughFields | undefined): extra is ResponsesPassthrough {
  return extra?.protocol === PROTOCOL
}

const DEFAULT_WRITING: ResponsesWriting = {}

export function writingOf(extra: PassthroughFields | undefined): ResponsesWriting {
  return (isOwn(extra) && extra.written) || DEFAULT_WRITING
}

/** `members` and `written` as an extra; undefined where there is nothing to remember. */
export function ownExtra(
  members: JsonObject,
  written: ResponsesWriting = DEFAULT_WRITING,
): ResponsesPassthrough | undefined {
  const isUsual = Object.keys(written).length === 0
  if (isUsual && Object.keys(members).length === 0) return undefined
  return { protocol: PROTOCOL, members, ...(!isUsual && { written }) }
}

/** Puts back what rode along from this protocol; what did from another is named as lost. */
export function restorePassthrough(
  draft: JsonDraft,
  extra: PassthroughFields | undefined,
  { at, losses }: { at: string; losses: Losses },
): JsonDraft {
  if (!extra) return draft
  if (isOwn(extra)) return joinMembers(draft, extra.members)
  for (const name of presentFieldNames(extra)) {
    losses.push(dropped.hint(memberPath(at, name), "the responses interface has no such member"))
  }
  return draft
}
