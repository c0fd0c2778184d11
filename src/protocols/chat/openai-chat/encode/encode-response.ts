// Encodes a whole chat completion.

import type { ChatResponse, ResponseCandidate } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { encodeAnnotation } from "../citations.ts"
import { encodeFinish, reportFinish } from "../finish-reasons.ts"
import { encodeLogprobs } from "../logprobs.ts"
import { restorePassthrough } from "../passthrough-fields.ts"
import { encodeUsage } from "../usage.ts"
import {
  BETWEEN_THOUGHTS,
  callId,
  completionId,
  mediaMember,
  ONE_CALL,
  reportPart,
  requestsLegacy,
  unsupportedReason,
} from "./encode-response-common.ts"

export function encodeResponse(response: ChatResponse, context: ClientResponseContext): JsonObject {
  const { candidates, usage, extra } = response
  const choices = candidates.length > 0 ? candidates : [{ index: 0, parts: [] }]
  let calls = 0
  const draft: JsonDraft = {
    id: completionId(response.id, context),
    object: "chat.completion",
    created: response.created ?? context.unixTime,
    model: context.model,
    choices: choices.map((candidate) => {
      const choice = new ChoiceEncoder(candidate, context, calls)
      calls += choice.calls.length
      return choice.encode()
    }),
    ...(usage && { usage: encodeUsage(usage) }),
  }
  return restorePassthrough(draft, extra, { at: "", losses: context.losses })
}

/** One candidate: its parts sorted into the members of a message. */
class ChoiceEncoder {
  readonly calls: Json[] = []
  private content = ""
  private hasText = false
  private reasoning = ""
  private refusal: string | undefined
  private readonly annotations: Json[] = []
  private readonly media: JsonDraft = {}
  private readonly path: string

  constructor(
    private readonly candidate: ResponseCandidate,
    private readonly context: ClientResponseContext,
    private readonly callsBefore: number,
  ) {
    this.path = `candidates[${candidate.index}]`
    for (const [index, part] of candidate.parts.entries()) this.add(part, `${this.path}.parts[${index}]`)
  }

  encode(): Json {
    const { candidate, context, calls, refusal } = this
    const { losses } = context
    const hasCalls = calls.length > 0
    reportFinish(candidate.finish, { path: this.path, losses })
    const isSilent = !this.hasText && (hasCalls || refusal !== undefined || this.media.audio !== undefined)
    const draft: JsonDraft = {
      index: candidate.index,
      message: {
        role: "assistant",
        content: isSilent ? null : this.content,
        refusal: refusal ?? null,
        ...(this.reasoning !== "" && { reasoning_content: this.reasoning }),
        ...(this.annotations.length > 0 && { annotations: this.annotations }),
        ...(hasCalls && this.calledMember()),
        ...this.media,
      },
      logprobs: candidate.logprobs ? encodeLogprobs(candidate.logprobs) : null,
      finish_reason: encodeFinish(candidate.finish, {
        isLegacy: requestsLegacy(context),
        ...{ hasCalls, refused: refusal !== undefined },
      }),
    }
    return restorePassthrough(draft, candidate.extra, { at: this.path, losses })
  }

  private calledMember(): JsonDraft {
    const { calls, context } = this
    const [first] = calls
    if (!requestsLegacy(context) || !isObject(first) || first.function === undefined) return { tool_calls: calls }
    if (calls.length > 1) reportPart(ONE_CALL, { path: this.path, losses: context.losses })
    return { function_call: first.function }
  }

  private add(part: ContentPart, path: string): void {
    const { context } = this
    const what = unsupportedReason(part)
    if (what !== undefined) reportPart(what, { path, losses: context.losses })
    else if (part.kind === "text") this.addText(part, path)
    else if (part.kind === "refusal") this.refusal = (this.refusal ?? "") + part.text
    else if (part.kind === "reasoning") this.think(part.text)
    else if (part.kind === "tool-call") this.calls.push(this.call(part))
    else if (part.kind === "media") {
      const member = mediaMember(part, context)
      if (member) this.show(member)
      else reportPart(`a ${part.media} at such an address`, { path, losses: context.losses })
    }
  }

  private addText({ text, citations = [] }: Extract<ContentPart, { kind: "text" }>, path: string): void {
    const span = { start: this.content.length, end: this.content.length + text.length }
    this.content += text
    this.hasText = true
    for (const [index, citation] of citations.entries()) {
      const annotation = encodeAnnotation(citation, span)
      if (annotation) this.annotations.push(annotation)
      else {
        const place = { path: `${path}.citations[${index}]`, losses: this.context.losses }
        reportPart("a citation without a URL", place)
      }
    }
  }

  private think(text: string): void {
    if (text === "") return
    this.reasoning += this.reasoning === "" ? text : BETWEEN_THOUGHTS + text
  }

  private call({ id, name, arguments: args, input }: ToolCallPart): Json {
    const known = callId(id, { context: this.context, index: this.callsBefore + this.calls.length })
    if (input === "text") return { id: known, type: "custom", custom: { name, input: args } }
    return { id: known, type: "function", function: { name, arguments: args } }
  }

  private show(member: { [name: string]: object }): void {
    for (const [name, value] of Object.entries(member) as [string, Json][]) {
      const before = this.media[name]
      this.media[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value
    }
  }
}
