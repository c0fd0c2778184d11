// Encodes a Converse request. Messages come last, so that a conversation only appends bytes to the previous request.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { limitCacheMarks } from "../../limit-cache-marks.ts"
import { familyOf } from "../model-family.ts"
import { reportForeignFields } from "../passthrough-fields.ts"
import { withCachePoints } from "./encode-cache-points.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"
import { encodeFormat } from "./encode-format.ts"
import { encodeMessages } from "./encode-messages.ts"
import { encodeParts } from "./encode-part.ts"
import { encodeThinking } from "./encode-reasoning-settings.ts"
import { encodeSettings } from "./encode-settings.ts"
import { encodeTools } from "./encode-tools.ts"

export function encodeRequest(original: ChatRequest, context: UpstreamRequestContext): JsonObject {
  const encodeContext: BedrockEncodeContext = { ...context, family: familyOf(context.model), documents: new Set() }
  // If the model has no cache, every mark is reported as lost anyway.
  const request = encodeContext.family.caches ? limitCacheMarks(original, context.losses) : original
  reportForeignFields(request.extra, { at: "", losses: context.losses })
  const { instructions, turns } = withLeadingInstructions(request, encodeContext)
  const messages = encodeMessages(turns, encodeContext)
  const thought = encodeThinking(request, encodeContext)
  const settings = encodeSettings(request.settings, { thought, encodeContext })
  const { outputConfig, answer, instruction: form } = encodeFormat(request, { thinks: thought.thinks, encodeContext })
  const called = calledToolNames(messages)
  const { toolConfig, instruction: choice } = encodeTools(request, { answer, called, encodeContext })
  const words = [form, choice].filter((each) => each !== undefined).map((text) => ({ text }))
  const system = [...encodeSystem(instructions, encodeContext), ...words]
  return {
    ...(toolConfig && { toolConfig }),
    ...(system.length > 0 && { system }),
    ...settings,
    ...(outputConfig && { outputConfig }),
    messages,
  }
}

type ConversePrompt = Pick<ChatRequest, "instructions" | "turns">

/** Instructions before the first turn apply to the whole conversation. */
function withLeadingInstructions(
  { instructions, turns }: ConversePrompt,
  { losses }: BedrockEncodeContext,
): ConversePrompt {
  const first = turns.findIndex(({ role }) => role !== "instruction")
  const leading = first < 0 ? turns : turns.slice(0, first)
  if (leading.length === 0) return { instructions, turns }
  for (const { at = "", extra } of leading) reportForeignFields(extra, { at, losses })
  return {
    instructions: [...instructions, ...leading.flatMap(({ parts }) => parts)],
    turns: turns.slice(leading.length),
  }
}

function encodeSystem(parts: readonly ContentPart[], encodeContext: BedrockEncodeContext): JsonObject[] {
  return withCachePoints(encodeParts(parts, { place: "system", encodeContext }), encodeContext)
}

/**
 * The names of the called tools, in the order of their first calls; undefined if there are neither calls nor results.
 */
function calledToolNames(messages: readonly JsonObject[]): string[] | undefined {
  const names = new Set<string>()
  let found = false
  for (const { content } of messages) {
    for (const block of content as readonly Json[]) {
      if (!isObject(block)) continue
      if (isObject(block.toolUse) && typeof block.toolUse.name === "string") names.add(block.toolUse.name)
      found ||= block.toolUse !== undefined || block.toolResult !== undefined
    }
  }
  return found ? [...names] : undefined
}
