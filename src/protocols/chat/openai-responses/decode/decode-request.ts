// A responses request in canonical words. Its `extra` is always there, if empty: it says whose words these were.

import type { ChatRequest, ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { runFieldChecks } from "../../../field-checks.ts"
import { takeRouting } from "../../../gateway-extension.ts"
import { FieldReader, flag, type JsonDraft, list, text } from "../../../openai/field-reader.ts"
import { ownExtra, PROTOCOL, type ResponsesWriting, writingOf } from "../passthrough-fields.ts"
import { openCallSeal, type ToolCallSeal } from "../seals.ts"
import { decodeItem } from "./decode-messages.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"

export function decodeRequest(body: JsonObject): ChatRequest {
  const fields = new FieldReader(body)
  const model = fields.take("model", text) ?? ""
  const said = fields.take("instructions", text)
  const input = fields.take("input", (value) => (typeof value === "string" ? value : list(value)))
  const { settings, written } = decodeSettings(fields)
  const tools = decodeTools(fields.take("tools", list))
  const toolChoice = fields.take("tool_choice", (choice) => decodeToolChoice(choice, tools))
  const stream = fields.take("stream", flag)
  const routing = runFieldChecks(() => takeRouting((name) => fields.take(name, (value) => value)))
  const { instructions, turns } = decodeInput(input)
  const spoken: ContentPart[] = said === undefined ? [] : [{ kind: "text", at: "instructions", text: said }]
  const how: ResponsesWriting = {
    ...written,
    ...(typeof input === "string" && { content: input === "" ? "empty" : "list" }),
    plain: {
      ...written.plain,
      ...(stream === false && { stream }),
      ...(Array.isArray(body.tools) && body.tools.length === 0 && { tools: [] }),
      ...quietMembers(fields),
    },
  }
  return {
    model,
    instructions: [...spoken, ...instructions],
    turns,
    tools,
    ...(toolChoice && { toolChoice }),
    settings,
    stream: stream === true,
    routing,
    extra: Object.assign({ protocol: PROTOCOL, members: fields.rest() }, { written: how }),
  }
}

/** Members whose usual values say nothing. `store` is the gateway's to see to. */
function quietMembers(fields: FieldReader): JsonObject {
  const quiet: JsonDraft = {}
  const usual: [string, (value: Json) => boolean][] = [
    ["truncation", (value) => value === "disabled"],
    ["service_tier", (value) => value === "auto" || value === "default"],
    ["background", (value) => value === false],
  ]
  for (const [name, says] of usual) {
    const value = fields.take(name, (each) => (says(each) ? each : undefined))
    if (value !== undefined) quiet[name] = value
  }
  fields.take("store", flag)
  return quiet
}

interface DecodedInput {
  readonly instructions: readonly ContentPart[]
  readonly turns: readonly ConversationTurn[]
}

function decodeInput(input: string | readonly Json[] | undefined): DecodedInput {
  if (typeof input === "string") {
    const parts: ContentPart[] = input === "" ? [] : [{ kind: "text", at: "input", text: input }]
    return { instructions: [], turns: [{ at: "input", role: "user", parts }] }
  }
  const instructions: ContentPart[] = []
  const turns: ConversationTurn[] = []
  const seals: ToolCallSeal[] = []
  for (const [index, item] of (input ?? []).entries()) {
    if (!isObject(item)) continue
    const turn = decodeItem(item, `input[${index}]`)
    const opening = turns.length === 0 ? openingParts(turn) : undefined
    if (opening) instructions.push(...opening)
    else {
      const seal = callSealIn(turn)
      if (seal) seals.push(seal)
      else turns.push(turn)
    }
  }
  return { instructions, turns: seals.length === 0 ? turns : withCallSeals(turns, seals) }
}

/**
 * The parts of an instruction that stands before all turns; undefined for any other turn. What its message said beside
 * them stands on the first of them.
 */
function openingParts({ role, parts, extra }: ConversationTurn): readonly ContentPart[] | undefined {
  const [first, ...others] = parts
  if (role !== "instruction" || !first) return undefined
  const { word = "developer", content, plain } = writingOf(extra)
  const members = Object.keys(extra?.members ?? {})
  const opens = {
    role: word,
    ...(content === "list" && { content }),
    ...(plain && { plain }),
    ...(members.length > 0 && { members }),
  }
  const said = ownExtra({ ...first.extra?.members, ...extra?.members }, { ...writingOf(first.extra), opens })
  return [{ ...first, ...(said && { extra: said }) }, ...others]
}

/** The seal of a call, where a turn is an item that one crossed the client in. */
function callSealIn({ parts: [part] }: ConversationTurn): ToolCallSeal | undefined {
  return part?.kind === "reasoning" && part.sealed ? openCallSeal(part.sealed) : undefined
}

/** Puts seals back on their calls. Items with seals stand before their calls; earlier releases put them behind. */
function withCallSeals(turns: readonly ConversationTurn[], seals: readonly ToolCallSeal[]): ConversationTurn[] {
  const byCall = new Map(seals.map(({ callId, sealed }) => [callId, sealed]))
  return turns.map((turn) => {
    if (!turn.parts.some((part) => part.kind === "tool-call" && byCall.has(part.id))) return turn
    return { ...turn, parts: turn.parts.map((part) => sealedCall(part, byCall)) }
  })
}

function sealedCall(part: ContentPart, seals: ReadonlyMap<string, SealedContent>): ContentPart {
  const sealed = part.kind === "tool-call" ? seals.get(part.id) : undefined
  return part.kind === "tool-call" && sealed ? { ...part, sealed } : part
}
