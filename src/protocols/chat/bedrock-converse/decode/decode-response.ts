// Decodes a whole response, which has neither an id nor a model name.

import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { claimFields } from "../../../../canonical/passthrough-fields.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { ANSWER_TOOL } from "../answer-tool.ts"
import { decodeFinish } from "../finish-reasons.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { decodeUsage } from "../usage.ts"
import { decodeBlock } from "./decode-part.ts"

export function decodeResponse(body: JsonObject, context: UpstreamResponseContext): ChatResponse | undefined {
  const message = isObject(body.output) ? body.output.message : undefined
  if (!isObject(message) || !Array.isArray(message.content)) return undefined
  const blocks: readonly Json[] = message.content
  const parts = blocks.flatMap((block, number) => decodeBlock(block, { ...context, number }) ?? [])
  const called = parts.some((part) => part.kind === "tool-call" && part.runsAt === "client")
  const { stopReason, additionalModelResponseFields: fields } = body
  const answered = !called && blocks.some(isAnswer)
  const usage = decodeUsage(body.usage)
  const extra = restOf(body)
  return {
    candidates: [
      {
        index: 0,
        parts,
        ...(typeof stopReason === "string" && { finish: decodeFinish(stopReason, { fields, answered }) }),
      },
    ],
    ...(usage && { usage }),
    ...(extra && { extra }),
  }
}

function isAnswer(block: Json): boolean {
  return isObject(block) && isObject(block.toolUse) && block.toolUse.name === ANSWER_TOOL
}

function restOf(body: JsonObject) {
  const held = claimFields(body)
  for (const name of ["output", "stopReason", "additionalModelResponseFields", "usage", "metrics"]) held.take(name)
  return held.rest(PROTOCOL)
}
