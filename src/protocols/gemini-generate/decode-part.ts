// The parts of a content, in requests and in answers alike, as canonical parts.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from "../../canonical/part.ts"
import type { Sealed } from "../../canonical/sealed.ts"
import { decodeResult } from "./function-result.ts"
import { decodeMedia } from "./media.ts"
import { list, Members, object, PROTOCOL, text } from "./members.ts"

/** What the vendor's own interpreter is called among provider-run tools. */
export const CODE_TOOL = "code_execution"

/** The one good outcome of running code. */
export const OUTCOME_OK = "OUTCOME_OK"

/**
 * Before a signature that belongs to the part before it: only calls and thoughts have a place for a seal, so that of
 * any other part follows it in a hidden thought of its own. No signature holds this character.
 */
export const OF_PART_BEFORE = "@"

export interface PartDecoding {
  /** The id of the nth call that came without one. */
  mintId(nth: number): string
  seal(signature: string): Sealed
}

interface Call {
  readonly id: string
  readonly name: string
}

type Said = Exclude<Part, { kind: "foreign" }>

/** Remembers the calls it has read, so that results without ids find theirs. */
export class PartDecoder {
  private minted = 0
  private readonly unanswered: Call[] = []

  constructor(private readonly decoding: PartDecoding) {}

  /** `at` is where the array stands; undefined in answers. */
  parts(value: readonly Json[], at: string | undefined): Part[] {
    return value.flatMap((part, index) => {
      const place = at === undefined ? undefined : `${at}[${index}]`
      return isObject(part) ? this.part(part, place) : [foreign(part, place)]
    })
  }

  /** One part, and a hidden thought behind it where it bears a signature that has no other place. */
  part(wire: JsonObject, at?: string): Part[] {
    const members = new Members(wire)
    const signature = members.take("thoughtSignature", (value) => (value === "" ? undefined : text(value)))
    const sealed = signature === undefined ? undefined : this.decoding.seal(signature)
    // What is not the signature itself came in an envelope of ours, from another vendor.
    const crossed = sealed !== undefined && sealed.data !== signature
    const said = this.said(members, at) ?? (sealed && isEmpty(members) ? emptyText() : undefined)
    if (!said) return [foreign(wire, at)]
    const extra = members.rest()
    const placed = { ...(at !== undefined && { at }), ...(extra && { extra }) }
    if (!sealed) return [{ ...said, ...placed }]
    if (said.kind === "tool-call") return [{ ...said, sealed, ...placed }]
    if (said.kind === "reasoning") {
      const form = crossed && said.text === "" ? "hidden" : said.form
      return [{ ...said, form, sealed, ...placed }]
    }
    if (said.kind === "text" && said.text === "") return [{ ...hidden(sealed), ...placed }]
    const data = crossed ? sealed.data : OF_PART_BEFORE + sealed.data
    return [{ ...said, ...placed }, hidden({ ...sealed, data })]
  }

  private said(members: Members, at: string | undefined): Said | undefined {
    return (
      thoughtOrText(members) ??
      decodeMedia(members) ??
      members.within("functionCall", (call) => this.call(call)) ??
      members.within("functionResponse", (result, name) => this.result(result, at && `${at}.${name}.parts`)) ??
      members.within("executableCode", (code) => this.code(code)) ??
      members.within("codeExecutionResult", (result) => this.codeResult(result)) ??
      members.within("toolCall", (call) => this.hostedCall(call)) ??
      members.within("toolResponse", (result) => this.hostedResult(result))
    )
  }

  private call(call: Members): ToolCallPart | undefined {
    const name = call.take("name", text)
    if (name === undefined) return undefined
    const id = this.named(call, name)
    return { kind: "tool-call", id, name, arguments: JSON.stringify(call.take("args", object) ?? {}), runsAt: "client" }
  }

  private result(result: Members, partsAt: string | undefined): ToolResultPart {
    const name = result.take("name", text)
    const callId = this.answered(result, name)
    const response = result.take("response", object)
    const { text: said, isError } = response ? decodeResult(response) : { text: "", isError: false }
    const media = result.take("parts", list) ?? []
    const parts: Part[] = [...(response ? [{ kind: "text", text: said } as const] : []), ...this.parts(media, partsAt)]
    return { kind: "tool-result", callId, ...(name !== undefined && { name }), parts, isError }
  }

  private code(code: Members): ToolCallPart | undefined {
    const source = code.take("code", text)
    if (source === undefined) return undefined
    const language = code.take("language", text)
    const said = { ...(language !== undefined && { language }), code: source }
    const id = this.named(code, CODE_TOOL)
    return { kind: "tool-call", id, name: CODE_TOOL, arguments: JSON.stringify(said), runsAt: "provider" }
  }

  private codeResult(result: Members): ToolResultPart {
    const callId = this.answered(result, CODE_TOOL)
    const output = result.take("output", text)
    const ended = result.take("outcome", (outcome) => (outcome === OUTCOME_OK ? OUTCOME_OK : undefined))
    const parts: Part[] = output === undefined ? [] : [{ kind: "text", text: output }]
    return { kind: "tool-result", callId, name: CODE_TOOL, parts, isError: ended === undefined }
  }

  private hostedCall(call: Members): ToolCallPart | undefined {
    const name = call.take("toolType", text)
    if (name === undefined) return undefined
    const id = this.named(call, name)
    const args = JSON.stringify(call.take("args", object) ?? {})
    return { kind: "tool-call", id, name, arguments: args, runsAt: "provider" }
  }

  private hostedResult(result: Members): ToolResultPart | undefined {
    const name = result.take("toolType", text)
    if (name === undefined) return undefined
    const callId = this.answered(result, name)
    const response = result.take("response", object)
    const parts: Part[] = response ? [{ kind: "text", text: JSON.stringify(response) }] : []
    return { kind: "tool-result", callId, name, parts, isError: false }
  }

  private named(call: Members, name: string): string {
    const id = call.take("id", text) ?? this.decoding.mintId(this.minted++)
    this.unanswered.push({ id, name })
    return id
  }

  /** The vendor's older models give calls no ids: results are matched by name, in order. */
  private answered(result: Members, name: string | undefined): string {
    const id = result.take("id", text)
    const found = this.unanswered.findIndex((call) => (id === undefined ? call.name === name : call.id === id))
    const [call] = found < 0 ? [] : this.unanswered.splice(found, 1)
    return id ?? call?.id ?? this.decoding.mintId(this.minted++)
  }
}

/** Thoughts come summed up, never in full. */
function thoughtOrText(members: Members): TextPart | ReasoningPart | undefined {
  const said = members.take("text", text)
  if (said === undefined) return undefined
  const isThought = members.take("thought", (value) => (typeof value === "boolean" ? value : undefined))
  return isThought ? { kind: "reasoning", form: "summary", text: said } : { kind: "text", text: said }
}

function hidden(sealed: Sealed): ReasoningPart {
  return { kind: "reasoning", form: "hidden", text: "", sealed }
}

function emptyText(): TextPart {
  return { kind: "text", text: "" }
}

function isEmpty(members: Members): boolean {
  return members.rest() === undefined
}

function foreign(value: Json, at: string | undefined): Part {
  return { kind: "foreign", protocol: PROTOCOL, value, ...(at !== undefined && { at }) }
}
