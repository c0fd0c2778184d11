// Restores this protocol's own passthrough fields and reports those of other protocols as losses.

import type { Json, JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../../canonical/passthrough-fields.ts"
import { dropped, memberPath } from "../../losses.ts"
import { type JsonDraft, joinMembers } from "../../openai/field-reader.ts"

export const PROTOCOL = "openai-responses"

/**
 * The form in which the caller wrote members that this protocol can write in several ways. It does not change the
 * meaning, so it is outside `members` and no loss is reported for it.
 */
export interface ResponsesWriting {
  /** The item type of a turn that was a single item. */
  readonly item?: "message" | "custom_tool_call_output" | "local_shell_call_output" | "other"
  /** The name that was used if there is an alternative. */
  readonly word?: string
  /** Content as a list of parts, or as a string that is empty; a string otherwise. */
  readonly content?: "list" | "empty"
  /** Members with their default values. */
  readonly plain?: JsonObject
  /** The requested `include` values. */
  readonly include?: readonly string[]
  readonly endUser?: string
  /** The verbosity of the reasoning summary. */
  readonly summary?: string
  /** Set if `text` was present but empty. */
  readonly text?: true
  /** Set if log probabilities were requested without a number of alternatives. */
  readonly alternatives?: "absent"
  /** The namespace of a tool or call, and its name there. */
  readonly namespace?: ToolNamespace
  /** The message that an instruction's part begins. */
  readonly opens?: OpeningMessage
  /** The wire form of a value with another canonical form. */
  readonly as?: Json
}

export interface ToolNamespace {
  readonly name: string
  /** Path of the set of tools in the request. */
  readonly at?: string
  readonly members?: JsonObject
  /** The tool's name within the namespace. */
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

/** Passthrough fields with `members` and `written`; undefined if both are empty. */
export function ownExtra(
  members: JsonObject,
  written: ResponsesWriting = DEFAULT_WRITING,
): ResponsesPassthrough | undefined {
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
    losses.push(dropped.hint(memberPath(at, name), "the responses interface has no such member"))
  }
  return draft
}
