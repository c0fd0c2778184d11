// Decodes the parts of a content, in requests and responses alike.

import type {
  ContentPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { decodeResult } from "../function-result.ts"
import { GeminiFieldReader, list, object, PROTOCOL, text } from "../passthrough-fields.ts"
import { decodeMedia } from "./decode-media.ts"

/** The canonical name of the vendor's code interpreter. */
export const CODE_TOOL = "code_execution"

/** The one good outcome of running code. */
export const OUTCOME_OK = "OUTCOME_OK"

/**
 * Prefix of a signature that belongs to the previous part: only calls and reasoning can have a seal, so that of any
 * other part follows it in separate hidden reasoning. No signature contains this character.
 */
export const OF_PART_BEFORE = "@"

export interface PartDecodeContext {
  /** The id of the nth call without one. */
  mintId(nth: number): string
  seal(signature: string): SealedContent
}

interface UnansweredCall {
  readonly id: string
  readonly name: string
}

type DecodedGeminiPart = Exclude<ContentPart, { kind: "foreign" }>

/** Remembers the decoded calls, to match results without ids. */
export class PartDecoder {
  private minted = 0
  private readonly unanswered: UnansweredCall[] = []

  constructor(private readonly decoding: PartDecodeContext) {}

  /** `at` is the path of the array; undefined in responses. */
  parts(value: readonly Json[], at: string | undefined): ContentPart[] {
    return value.flatMap((part, index) => {
      const place = at === undefined ? undefined : `${at}[${index}]`
      return isObject(part) ? this.part(part, place) : [foreignPart(part, place)]
    })
  }

  /** One part, followed by hidden reasoning if it has a signature without another position. */
  part(wire: JsonObject, at?: string): ContentPart[] {
    const members = new GeminiFieldReader(wire)
    const signature = members.take("thoughtSignature", (value) => (value === "" ? undefined : text(value)))
    const sealed = signature === undefined ? undefined : this.decoding.seal(signature)
    // A seal that differs from the signature was enclosed by the gateway and belongs to another vendor.
    const crossed = sealed !== undefined && sealed.data !== signature
    const part = this.decodeKnown(members, at) ?? (sealed && isEmpty(members) ? emptyText() : undefined)
    if (!part) return [foreignPart(wire, at)]
    const extra = members.rest()
    const placed = { ...(at !== undefined && { at }), ...(extra && { extra }) }
    if (!sealed) return [{ ...part, ...placed }]
    if (part.kind === "tool-call") return [{ ...part, sealed, ...placed }]
    if (part.kind === "reasoning") {
      const form = crossed && part.text === "" ? "hidden" : part.form
      return [{ ...part, form, sealed, ...placed }]
    }
    if (part.kind === "text" && part.text === "") return [{ ...hiddenReasoning(sealed), ...placed }]
    const data = crossed ? sealed.data : OF_PART_BEFORE + sealed.data
    return [{ ...part, ...placed }, hiddenReasoning({ ...sealed, data })]
  }

  private decodeKnown(members: GeminiFieldReader, at: string | undefined): DecodedGeminiPart | undefined {
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

  private call(call: GeminiFieldReader): ToolCallPart | undefined {
    const name = call.take("name", text)
    if (name === undefined) return undefined
    const id = this.registerCall(call, name)
    return { kind: "tool-call", id, name, arguments: JSON.stringify(call.take("args", object) ?? {}), runsAt: "client" }
  }

  private result(result: GeminiFieldReader, partsAt: string | undefined): ToolResultPart {
    const name = result.take("name", text)
    const callId = this.matchResult(result, name)
    const response = result.take("response", object)
    const { text: resultText, isError } = response ? decodeResult(response) : { text: "", isError: false }
    const media = result.take("parts", list) ?? []
    const parts: ContentPart[] = [
      ...(response ? [{ kind: "text", text: resultText } as const] : []),
      ...this.parts(media, partsAt),
    ]
    return { kind: "tool-result", callId, ...(name !== undefined && { name }), parts, isError }
  }

  private code(code: GeminiFieldReader): ToolCallPart | undefined {
    const source = code.take("code", text)
    if (source === undefined) return undefined
    const language = code.take("language", text)
    const args = { ...(language !== undefined && { language }), code: source }
    const id = this.registerCall(code, CODE_TOOL)
    return { kind: "tool-call", id, name: CODE_TOOL, arguments: JSON.stringify(args), runsAt: "provider" }
  }

  private codeResult(result: GeminiFieldReader): ToolResultPart {
    const callId = this.matchResult(result, CODE_TOOL)
    const output = result.take("output", text)
    const ended = result.take("outcome", (outcome) => (outcome === OUTCOME_OK ? OUTCOME_OK : undefined))
    const parts: ContentPart[] = output === undefined ? [] : [{ kind: "text", text: output }]
    return { kind: "tool-result", callId, name: CODE_TOOL, parts, isError: ended === undefined }
  }

  private hostedCall(call: GeminiFieldReader): ToolCallPart | undefined {
    const name = call.take("toolType", text)
    if (name === undefined) return undefined
    const id = this.registerCall(call, name)
    const args = JSON.stringify(call.take("args", object) ?? {})
    return { kind: "tool-call", id, name, arguments: args, runsAt: "provider" }
  }

  private hostedResult(result: GeminiFieldReader): ToolResultPart | undefined {
    const name = result.take("toolType", text)
    if (name === undefined) return undefined
    const callId = this.matchResult(result, name)
    const response = result.take("response", object)
    const parts: ContentPart[] = response ? [{ kind: "text", text: JSON.stringify(response) }] : []
    return { kind: "tool-result", callId, name, parts, isError: false }
  }

  private registerCall(call: GeminiFieldReader, name: string): string {
    const id = call.take("id", text) ?? this.decoding.mintId(this.minted++)
    this.unanswered.push({ id, name })
    return id
  }

  /** The vendor's older models give calls no ids: results are matched by name, in order. */
  private matchResult(result: GeminiFieldReader, name: string | undefined): string {
    const id = result.take("id", text)
    const found = this.unanswered.findIndex((call) => (id === undefined ? call.name === name : call.id === id))
    const [call] = found < 0 ? [] : this.unanswered.splice(found, 1)
    return id ?? call?.id ?? this.decoding.mintId(this.minted++)
  }
}

/** Thoughts are always summaries. */
function thoughtOrText(members: GeminiFieldReader): TextPart | ReasoningPart | undefined {
  const value = members.take("text", text)
  if (value === undefined) return undefined
  const isThought = members.take("thought", (value) => (typeof value === "boolean" ? value : undefined))
  return isThought ? { kind: "reasoning", form: "summary", text: value } : { kind: "text", text: value }
}

function hiddenReasoning(sealed: SealedContent): ReasoningPart {
  return { kind: "reasoning", form: "hidden", text: "", sealed }
}

function emptyText(): TextPart {
  return { kind: "text", text: "" }
}

function isEmpty(members: GeminiFieldReader): boolean {
  return members.rest() === undefined
}

function foreignPart(value: Json, at: string | undefined): ContentPart {
  return { kind: "foreign", protocol: PROTOCOL, value, ...(at !== undefined && { at }) }
}
