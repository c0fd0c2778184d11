// Encodes instructions and turns as messages. Tool results are separate messages, directly after their calls.

import type { ChatRequest, ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ToolResultPart } from "../../../../canonical/chat/content-part.ts"
import type { Json } from "../../../../canonical/json.ts"
import type { PassthroughFields } from "../../../../canonical/passthrough-fields.ts"
import { approximated, memberPath } from "../../../losses.ts"
import { type JsonDraft, joinMembers } from "../../../openai/field-reader.ts"
import { isOwn, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import { encodeAssistant } from "./encode-assistant-message.ts"
import type { ChatEncodeContext } from "./encode-context.ts"
import { encodeContent, encodePart, textOf } from "./encode-part.ts"

const PARAGRAPH = "\n\n"

export function encodeMessages(request: ChatRequest, encodeContext: ChatEncodeContext): Json[] {
  const { instructions, turns } = request
  const messages: Json[] = groupInstructionMessages(instructions).map((parts) => encodeOpening(parts, encodeContext))
  if (lacksWord(request, encodeContext)) messages.push(jsonInstruction(encodeContext))
  // Messages between a call and its result wait for the result.
  let waiting: Json[] = []
  for (const turn of encodeContext.own ? turns : joinToolTurns(turns)) {
    if (turn.role === "assistant") {
      messages.push(...waiting)
      waiting = []
      const message = encodeAssistant(turn, encodeContext)
      if (message) messages.push(message)
    } else {
      const { results, others } = encodeTurn(turn, encodeContext)
      messages.push(...results)
      if (encodeContext.own) messages.push(...others)
      else waiting.push(...others)
    }
  }
  messages.push(...waiting)
  return messages
}

/**
 * True if JSON mode is requested but the word is missing, which the vendor requires in the prompt. Only the beginning
 * of a conversation is searched, so that the prefix stays the same as it continues.
 */
function lacksWord({ settings: { format }, instructions, turns }: ChatRequest, { own }: ChatEncodeContext): boolean {
  if (own || format?.kind !== "json") return false
  const opening = [...instructions, ...(turns[0]?.parts ?? [])]
  return !opening.some((part) => part.kind === "text" && /json/i.test(part.text))
}

function jsonInstruction({ context: { losses } }: ChatEncodeContext): Json {
  losses.push(approximated.hint("format", "JSON mode requires the word JSON in the prompt: an instruction was added"))
  return { role: "system", content: "Answer in JSON." }
}

/** Calls that are answered together are put in one message. */
function joinToolTurns(turns: readonly ConversationTurn[]): ConversationTurn[] {
  const joined: ConversationTurn[] = []
  for (const turn of turns) {
    const before = joined.at(-1)
    if (before?.role !== "assistant" || turn.role !== "assistant") joined.push(turn)
    else {
      const extra = before.extra && turn.extra ? joinExtras(before.extra, turn.extra) : (before.extra ?? turn.extra)
      joined[joined.length - 1] = { ...before, parts: [...before.parts, ...turn.parts], ...(extra && { extra }) }
    }
  }
  return joined
}

function joinExtras(one: PassthroughFields, other: PassthroughFields): PassthroughFields {
  return { protocol: one.protocol, members: { ...one.members, ...other.members } }
}

/** The parts of each original instruction message; those of another protocol become one message. */
function groupInstructionMessages(instructions: readonly ContentPart[]): ContentPart[][] {
  const groups: ContentPart[][] = []
  for (const part of instructions) {
    const group = groups.at(-1)
    if (group && !writingOf(part.extra).opens) group.push(part)
    else groups.push([part])
  }
  return groups
}

function encodeOpening(parts: readonly ContentPart[], encodeContext: ChatEncodeContext): Json {
  const extra = parts[0]?.extra
  const { opens } = writingOf(extra)
  const content = encodeContent(parts, encodeContext, { content: opens?.content, between: PARAGRAPH })
  const names = opens?.members ?? []
  const members = Object.entries(extra?.members ?? {}).filter(([name]) => names.includes(name))
  return joinMembers({ role: opens?.role ?? "system", content }, Object.fromEntries(members))
}

interface EncodedTurn {
  readonly results: readonly Json[]
  readonly others: readonly Json[]
}

function encodeTurn(turn: ConversationTurn, encodeContext: ChatEncodeContext): EncodedTurn {
  const { losses } = encodeContext.context
  const results = turn.parts.filter((part) => part.kind === "tool-result")
  const rest = turn.parts.filter((part) => part.kind !== "tool-result")
  const { content, word } = writingOf(turn.extra)
  const place = { at: turn.at ?? "", losses }
  if (isOwn(turn.extra) && results.length > 0) {
    return {
      results: results.map((part) => restorePassthrough(encodeOwnResult(part, turn, encodeContext), turn.extra, place)),
      others: [],
    }
  }
  const answers = results.map((part) => encodeResult(part, encodeContext))
  const moved = answers.flatMap(({ media }) => media)
  const messages: Json[] = answers.map(({ message }) => message)
  const isInstruction = turn.role === "instruction"
  const role = isInstruction ? (word ?? "system") : "user"
  const between = isInstruction ? { between: PARAGRAPH } : {}
  const others: Json[] = moved.length > 0 ? [{ role: "user", content: moved }] : []
  if (rest.length > 0 || results.length === 0) {
    others.push(
      restorePassthrough(
        { role, content: encodeContent(rest, encodeContext, { content, ...between }) },
        turn.extra,
        place,
      ),
    )
  } else restorePassthrough({}, turn.extra, place)
  return { results: messages, others }
}

function encodeOwnResult(part: ToolResultPart, turn: ConversationTurn, encodeContext: ChatEncodeContext): JsonDraft {
  const { content, word } = writingOf(turn.extra)
  const body = encodeContent(part.parts, encodeContext, { content })
  if (word === "function") return { role: word, name: part.name ?? "", content: body }
  return { role: "tool", tool_call_id: part.callId, content: body }
}

/** A result is text here; its images and files follow in a user message. */
function encodeResult(
  part: ToolResultPart,
  encodeContext: ChatEncodeContext,
): { message: Json; media: readonly Json[] } {
  const { losses } = encodeContext.context
  const at = part.at ?? ""
  const media = part.parts.filter((each) => each.kind === "media" && textOf(each.source) === undefined)
  const texts = part.parts.filter((each) => !media.includes(each))
  if (media.length > 0) {
    const why = "a tool result is text only in chat completions: the rest follows in a user message"
    losses.push(approximated.meaning(memberPath(at, "content"), why))
  }
  const joined = encodeContent(texts, encodeContext, { content: undefined, between: PARAGRAPH })
  if (part.isError) losses.push(approximated.hint(at, "the text of the result says that the tool failed"))
  const content = part.isError && typeof joined === "string" ? `Error: ${joined}` : joined
  const message = restorePassthrough({ role: "tool", tool_call_id: part.callId, content }, part.extra, { at, losses })
  return { message, media: media.flatMap((each) => encodePart(each, encodeContext) ?? []) }
}
