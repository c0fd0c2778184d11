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
import { openCallSeal } from "./seals.ts"

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
  for (const [index, item] of (input ?? []).entries()) {
    if (!isObject(item)) continue
    const turn = decodeItem(item, `input[${index}]`)
    const opening = turns.length === 0 ? openingParts(turn) : undefined
    if (opening) instructions.push(...opening)
    else if (!returnCallSeal(turn, turns)) turns.push(turn)
  }
  return { instructions, turns }
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

/** The seal of a call crosses a client in an item behind it: back on the call, where that is found. */
function returnCallSeal({ parts: [part] }: Turn, turns: Turn[]): boolean {
  const found = part?.kind === "reasoning" && part.sealed ? openCallSeal(part.sealed) : undefined
  if (!found) return false
  const isCall = (each: Part) => each.kind === "tool-call" && each.id === found.callId
  const index = turns.findLastIndex(({ parts }) => parts.some(isCall))
  const turn = turns[index]
  if (turn)
    turns[index] = { ...turn, parts: turn.parts.map((each) => (isCall(each) ? sealed(each, found.sealed) : each)) }
  return true
}

function sealed(part: Part, seal: Sealed): Part {
  return part.kind === "tool-call" ? { ...part, sealed: seal } : part
}
