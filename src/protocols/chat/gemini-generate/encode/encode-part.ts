// Encodes parts of requests and responses. Parts that cannot be expressed are reported as losses.

import type {
  ContentPart,
  MediaPart,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from "../../../../canonical/chat/content-part.ts"
import { openSeal, type SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { isObject, type JsonObject, parseJson } from "../../../../canonical/json.ts"
import type { Loss, Losses } from "../../../../canonical/loss.ts"
import { CODE_TOOL, OF_PART_BEFORE, OUTCOME_OK } from "../decode/decode-part.ts"
import { isUnnamed } from "../decode/decode-request.ts"
import { encodeResult, parseExactObject } from "../function-result.ts"
import { type GeminiDraft, isNative, PROTOCOL, reportForeignFields, restorePassthrough } from "../passthrough-fields.ts"
import { encodeMedia } from "./encode-media.ts"

export interface PartEncodeContext {
  readonly losses: Losses
  /** True if the reader understands seals and files of this minter. */
  isOurs(mintedBy: string): boolean
  /** Encodes the seal of another minter; absent if the reader cannot use it. */
  readonly enclose?: (sealed: SealedContent) => string
  /** True if a tool result may contain files and media; otherwise they follow it. */
  readonly mediaInResults: boolean
  /** True if only results of provider-run tools are encoded, as in a response. */
  readonly hostedResults?: boolean
  /** The weight of losing a call that another provider ran. */
  readonly foreignRuns: Loss["weight"]
}

/** Remembers the calls it has written, so that results find theirs. */
export class PartEncoder {
  private readonly calls = new Map<string, ToolCallPart>()

  constructor(private readonly encoding: PartEncodeContext) {}

  /** `place` is the path of parts that have none. */
  encode(parts: readonly ContentPart[], place: string): JsonObject[] {
    const written: JsonObject[] = []
    for (const [index, part] of parts.entries()) this.write(part, part.at ?? `${place}[${index}]`, written)
    return written
  }

  private write(part: ContentPart, at: string, written: JsonObject[]): void {
    this.reportPartExtras(part, at)
    if (part.kind === "reasoning" && part.form === "hidden") this.encodeHidden(part, at, written)
    else written.push(...this.wire(part, at).map((wire) => restorePassthrough(wire, part.extra)))
  }

  /** Reports members of a part that this protocol cannot express. */
  private reportPartExtras(part: ContentPart, at: string): void {
    if (part.cacheMark) this.lose(`${at}.cache_control`, "Gemini decides on its own what it caches.")
    reportForeignFields(part.extra, { at, losses: this.encoding.losses })
    if (part.kind === "text" && part.citations) this.citations(part.citations.length, at)
  }

  private wire(part: ContentPart, at: string): JsonObject[] {
    switch (part.kind) {
      case "text":
        return part.text === "" && !isNative(part.at) ? [] : [{ text: part.text }]
      case "refusal":
        this.lose(at, "Gemini has no refusals; the refusal is sent as text.", { how: "approximated" })
        return part.text === "" ? [] : [{ text: part.text }]
      case "reasoning":
        return this.thought(part, at)
      case "media":
        return this.media(part, at)
      case "tool-call":
        this.calls.set(part.id, part)
        return part.runsAt === "client" ? [this.call(part, at)] : this.hostedCall(part, at)
      case "tool-result":
        return this.isHosted(part) ? this.hostedResult(part, at) : this.result(part, at)
      case "foreign":
        return this.foreign(part, at)
    }
  }

  private isHosted({ callId }: ToolResultPart): boolean {
    return this.encoding.hostedResults === true || this.calls.get(callId)?.runsAt === "provider"
  }

  /** In responses, citations are outside the content and encoded separately. */
  private citations(count: number, at: string): void {
    if (count > 0 && !at.startsWith("candidates["))
      this.lose(`${at}.citations`, "Gemini does not accept citations in a request.")
  }

  private thought(part: ReasoningPart, at: string): JsonObject[] {
    const signature = this.encodeSignature(part.sealed, at)
    if (part.text === "" && signature === undefined && !isNative(part.at)) return []
    return [{ text: part.text, thought: true, ...(signature !== undefined && { thoughtSignature: signature }) }]
  }

  /** A seal without text, as a separate part or on the previous one. */
  private encodeHidden({ sealed, extra }: ReasoningPart, at: string, written: JsonObject[]): void {
    const signature = this.encodeSignature(sealed, at)
    if (signature === undefined || !sealed) return
    if (signature !== sealed.data) addEnvelope(signature, written)
    else if (!signature.startsWith(OF_PART_BEFORE))
      written.push(restorePassthrough({ text: "", thoughtSignature: signature }, extra))
    else {
      const thoughtSignature = signature.slice(OF_PART_BEFORE.length)
      const before = written.at(-1)
      if (before && before.thoughtSignature === undefined) written[written.length - 1] = { ...before, thoughtSignature }
      else written.push({ text: "", thoughtSignature })
    }
  }

  private encodeSignature(sealed: SealedContent | undefined, at: string): string | undefined {
    const signature = sealed && this.signature(sealed)
    if (sealed && signature === undefined) this.lose(at, "Only its minter can read this seal.")
    return signature
  }

  private signature(sealed: SealedContent): string | undefined {
    return this.encoding.isOurs(sealed.mintedBy) ? sealed.data : this.encoding.enclose?.(sealed)
  }

  private media(part: MediaPart, at: string): JsonObject[] {
    if (part.detail !== undefined && part.detail !== "auto") this.lose(`${at}.detail`, "Gemini has no image detail.")
    if (part.name !== undefined) this.lose(`${at}.name`, "Gemini has no file names.")
    const written = encodeMedia(part, { mayRead: this.encoding.isOurs })
    if (!written) this.lose(at, "It is a file in another provider's account.", { weight: "meaning" })
    if (written?.guessed)
      this.lose(at, "The request does not state its media type; the gateway guessed it.", { how: "approximated" })
    return written ? [written.part] : []
  }

  private call(part: ToolCallPart, at: string): JsonObject {
    const signature = this.encodeSignature(part.sealed, at)
    const functionCall = { ...callIdMember(part.id), name: part.name, args: this.args(part, at) }
    return { functionCall, ...(signature !== undefined && { thoughtSignature: signature }) }
  }

  private args({ input, arguments: text }: ToolCallPart, at: string): JsonObject {
    if (input === "text") return { input: text }
    if (text.trim() === "") return {}
    const exact = parseExactObject(text)
    if (exact) return exact
    const how = { weight: "meaning", how: "approximated" } as const
    const near = parseJson(text)
    if (isObject(near)) this.lose(`${at}.arguments`, "It contains numbers that exceed JSON precision.", how)
    else this.lose(`${at}.arguments`, "They are not a JSON object; they are sent as the string `input` of one.", how)
    return isObject(near) ? near : { input: text }
  }

  private hostedCall(part: ToolCallPart, at: string): JsonObject[] {
    const args = parseExactObject(part.arguments) ?? {}
    const signature = this.encodeSignature(part.sealed, at)
    const signing = signature === undefined ? {} : { thoughtSignature: signature }
    if (typeof args.code === "string" && CODE_TOOLS.includes(part.name)) {
      const language = typeof args.language === "string" ? args.language : "PYTHON"
      return [{ executableCode: { ...callIdMember(part.id), language, code: args.code }, ...signing }]
    }
    if (!isToolType(part.name)) return this.foreignRun(at)
    const argsMember = Object.keys(args).length === 0 ? {} : { args }
    return [{ toolCall: { toolType: part.name, ...argsMember, ...callIdMember(part.id) }, ...signing }]
  }

  private hostedResult(part: ToolResultPart, at: string): JsonObject[] {
    const name = part.name ?? this.calls.get(part.callId)?.name ?? ""
    const texts = this.texts(part, at)
    const text = texts.join("\n")
    if (CODE_TOOLS.includes(name)) {
      const otherwise = part.extra ? {} : { outcome: "OUTCOME_FAILED" }
      const outcome = part.isError ? otherwise : { outcome: OUTCOME_OK }
      return [
        {
          codeExecutionResult: { ...callIdMember(part.callId), ...outcome, ...(texts.length > 0 && { output: text }) },
        },
      ]
    }
    if (!isToolType(name)) return this.foreignRun(at)
    const responseMember = texts.length === 0 ? {} : { response: encodeResult({ text, isError: part.isError }) }
    return [{ toolResponse: { toolType: name, ...responseMember, ...callIdMember(part.callId) } }]
  }

  /** A result's texts, which become members of one object. */
  private texts({ parts }: ToolResultPart, at: string): string[] {
    return parts.flatMap((part, index) => {
      if (part.kind !== "text" && part.kind !== "refusal") return []
      this.reportPartExtras(part, part.at ?? `${at}.content[${index}]`)
      return [part.text]
    })
  }

  private foreignRun(at: string): JsonObject[] {
    this.lose(at, "It belongs to a tool that another provider ran.", { weight: this.encoding.foreignRuns })
    return []
  }

  private result(part: ToolResultPart, at: string): JsonObject[] {
    const name = part.name ?? this.calls.get(part.callId)?.name
    if (name === undefined) this.lose(at, "Its call is not in the request, so the tool's name is unknown.")
    const texts = this.texts(part, at)
    const others = part.parts.filter((each) => each.kind !== "text" && each.kind !== "refusal")
    const media = this.encode(others, `${at}.content`)
    const inside = media.length > 0 && (this.encoding.mediaInResults || isNative(part.at))
    if (media.length > 0 && !inside) {
      this.lose(at, "This model accepts only text as a tool result; the rest is sent next to it.", {
        how: "approximated",
      })
    }
    const response = texts.length === 0 ? {} : encodeResult({ text: texts.join("\n"), isError: part.isError })
    const functionResponse = {
      ...callIdMember(part.callId),
      name: name ?? "unknown",
      response,
      ...(inside && { parts: media }),
    }
    return [{ functionResponse }, ...(inside ? [] : media)]
  }

  private foreign({ protocol, value }: Extract<ContentPart, { kind: "foreign" }>, at: string): JsonObject[] {
    if (protocol === PROTOCOL && isObject(value)) return [this.withoutEnvelopes(value)]
    this.lose(at, `Only ${protocol} has this kind of part.`, { weight: "meaning" })
    return []
  }

  /** Removes the gateway's envelopes, even from parts that are not understood: none may reach an upstream. */
  private withoutEnvelopes(part: JsonObject): JsonObject {
    const { thoughtSignature, ...others } = part
    const sealed = typeof thoughtSignature === "string" ? openSeal(thoughtSignature) : undefined
    if (!sealed) return part
    const signature = this.signature(sealed)
    return signature === undefined ? others : { ...others, thoughtSignature: signature }
  }

  private lose(path: string, why: string, how: Partial<Pick<Loss, "weight" | "how">> = {}): void {
    this.encoding.losses.push({ path, weight: how.weight ?? "hint", how: how.how ?? "dropped", why })
  }
}

/** The vendor signs the last text. Clients keep a part without text only if it is a thought. */
function addEnvelope(thoughtSignature: string, written: JsonObject[]): void {
  const before = written.at(-1)
  const isText = before && typeof before.text === "string" && before.thought !== true
  if (isText && before.thoughtSignature === undefined) written[written.length - 1] = { ...before, thoughtSignature }
  else written.push({ text: "", thought: true, thoughtSignature })
}

const CODE_TOOLS = [CODE_TOOL, "code_interpreter"]

/** The vendor's tools have names in an enumeration. */
function isToolType(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name)
}

function callIdMember(id: string): GeminiDraft {
  return id === "" || isUnnamed(id) ? {} : { id }
}
