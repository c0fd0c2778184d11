// A responses request in canonical words. Its `extra` is always there, if empty: it says whose words these were.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Part } from "../../canonical/part.ts"
import type { ChatRequest, Turn } from "../../canonical/request.ts"
import type { Sealed } from "../../canonical/sealed.ts"
import { checked } from "../check.ts"
import { takeRouting } from "../extension.ts"
import { type Draft, Fields, flag, list, text } from "../openai-fields.ts"
import { decodeItem } from "./decode-item.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"
import { ownExtra, PROTOCOL, type Written, writtenIn } from "./own.ts"
import { type CallSeal, openCallSeal } from "./seals.ts"

export function decodeRequest(body: JsonObject): ChatRequest {
  const fields = new Fields(body)
  const model = fields.take("model", text) ?? ""
  const said = fields.take("instructions", text)
  const input = fields.take("input", (value) => (typeof value === "string" ? value : list(value)))
  const { settings, written } = decodeSettings(fields)
  const tools = decodeTools(fields.take("tools", list))
  const toolChoice = fields.take("tool_choice", (choice) => decodeToolChoice(choice, tools))
  const stream = fields.take("stream", flag)
  const routing = checked(() => takeRouting((name) => fields.take(name, (value) => value)))
  const { instructions, turns } = decodeInput(input)
  const spoken: Part[] = said === undefined ? [] : [{ kind: "text", at: "instructions", text: said }]
  const how: Written = {
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
function quietMembers(fields: Fields): JsonObject {
  const quiet: Draft = {}
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

interface Conversation {
  readonly instructions: readonly Part[]
  readonly turns: readonly Turn[]
}

function decodeInput(input: string | readonly Json[] | undefined): Conversation {
  if (typeof input === "string") {
    const parts: Part[] = input === "" ? [] : [{ kind: "text", at: "input", text: input }]
    return { instructions: [], turns: [{ at: "input", role: "user", parts }] }
  }
  const instructions: Part[] = []
  const turns: Turn[] = []
  const seals: CallSeal[] = []
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
function openingParts({ role, parts, extra }: Turn): readonly Part[] | undefined {
  const [first, ...others] = parts
  if (role !== "instruction" || !first) return undefined
  const { word = "developer", content, plain } = writtenIn(extra)
  const members = Object.keys(extra?.members ?? {})
  const opens = {
    role: word,
    ...(content === "list" && { content }),
    ...(plain && { plain }),
    ...(members.length > 0 && { members }),
  }
  const said = ownExtra({ ...first.extra?.members, ...extra?.members }, { ...writtenIn(first.extra), opens })
  return [{ ...first, ...(said && { extra: said }) }, ...others]
}

/** The seal of a call, where a turn is an item that one crossed the client in. */
function callSealIn({ parts: [part] }: Turn): CallSeal | undefined {
  return part?.kind === "reasoning" && part.sealed ? openCallSeal(part.sealed) : undefined
}

/** Puts seals back on their calls. Items with seals stand before their calls; earlier releases put them behind. */
function withCallSeals(turns: readonly Turn[], seals: readonly CallSeal[]): Turn[] {
  const byCall = new Map(seals.map(({ callId, sealed }) => [callId, sealed]))
  return turns.map((turn) => {
    if (!turn.parts.some((part) => part.kind === "tool-call" && byCall.has(part.id))) return turn
    return { ...turn, parts: turn.parts.map((part) => sealedCall(part, byCall)) }
  })
}

function sealedCall(part: Part, seals: ReadonlyMap<string, Sealed>): Part {
  const sealed = part.kind === "tool-call" ? seals.get(part.id) : undefined
  return part.kind === "tool-call" && sealed ? { ...part, sealed } : part
}
