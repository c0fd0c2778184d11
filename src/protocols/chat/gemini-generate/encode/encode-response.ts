// Encodes a whole generateContent response.

import type { ChatResponse, ResponseCandidate } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { GroundingEncoder } from "../citations.ts"
import { encodeFinish } from "../finish-reasons.ts"
import { encodeLogprobs } from "../logprobs.ts"
import { PROTOCOL, reportForeignFields, restorePassthrough } from "../passthrough-fields.ts"
import { encodeUsage } from "../usage.ts"
import { answerParts, reportUsage } from "./encode-response-common.ts"

export function encodeResponse(response: ChatResponse, context: ClientResponseContext): JsonObject {
  const { candidates, usage, extra } = response
  const { losses } = context
  reportForeignFields(extra, { at: "", losses })
  if (usage) reportUsage(usage, losses)
  const written = {
    ...(!isBlocked(extra?.members) && { candidates: candidates.map((each) => encodeCandidate(each, context)) }),
    ...(usage && { usageMetadata: encodeUsage(usage) }),
    modelVersion: context.model,
    responseId: context.id,
  }
  return restorePassthrough(written, extra)
}

/** The response to a blocked prompt has no candidates. */
export function isBlocked(members: JsonObject | undefined): boolean {
  const feedback = members?.promptFeedback
  return isObject(feedback) && typeof feedback.blockReason === "string"
}

function encodeCandidate(candidate: ResponseCandidate, context: ClientResponseContext): JsonObject {
  const { index, parts, finish, extra } = candidate
  const at = `candidates[${index}]`
  reportForeignFields(extra, { at, losses: context.losses })
  const written = {
    content: { parts: answerParts(context).encode(parts, `${at}.content.parts`), role: "model" },
    finishReason: encodeFinish(finish, { calls: parts.some(isClientCall), losses: context.losses }),
    index,
    // A response of this protocol already has these members in `extra`.
    ...(extra?.protocol !== PROTOCOL && encodeMetadata(candidate)),
  }
  return restorePassthrough(written, extra)
}

function isClientCall(part: ContentPart): boolean {
  return part.kind === "tool-call" && part.runsAt === "client"
}

function encodeMetadata({ parts, logprobs }: ResponseCandidate): JsonObject {
  const grounding = new GroundingEncoder()
  let before = ""
  for (const part of parts) {
    if (part.kind !== "text" && part.kind !== "refusal") continue
    if (part.kind === "text") for (const each of part.citations ?? []) grounding.add(each, { before, text: part.text })
    before += part.text
  }
  const groundingMetadata = grounding.metadata()
  return {
    ...(groundingMetadata && { groundingMetadata }),
    ...(logprobs && { logprobsResult: encodeLogprobs(logprobs) }),
  }
}
