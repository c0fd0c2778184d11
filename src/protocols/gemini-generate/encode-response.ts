// A canonical answer as a generateContent response.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { Part } from "../../canonical/part.ts"
import type { Candidate, ChatResponse } from "../../canonical/response.ts"
import type { EncodeContext } from "../codec.ts"
import { Grounding } from "./citations.ts"
import { answerParts, encodeFinish, reportUsage } from "./encode-answer.ts"
import { encodeUsage } from "./encode-usage.ts"
import { encodeLogprobs } from "./logprobs.ts"
import { reportExtra } from "./losses.ts"
import { joined, PROTOCOL } from "./members.ts"

export function encodeResponse(response: ChatResponse, context: EncodeContext): JsonObject {
  const { candidates, usage, extra } = response
  const { losses } = context
  reportExtra(extra, { at: "", losses })
  if (usage) reportUsage(usage, losses)
  const written = {
    ...(!isBlocked(extra?.members) && { candidates: candidates.map((each) => encodeCandidate(each, context)) }),
    ...(usage && { usageMetadata: encodeUsage(usage) }),
    modelVersion: context.model,
    responseId: context.id,
  }
  return joined(written, extra)
}

/** A prompt that was refused has no candidates. */
export function isBlocked(members: JsonObject | undefined): boolean {
  const feedback = members?.promptFeedback
  return isObject(feedback) && typeof feedback.blockReason === "string"
}

function encodeCandidate(candidate: Candidate, context: EncodeContext): JsonObject {
  const { index, parts, finish, extra } = candidate
  const at = `candidates[${index}]`
  reportExtra(extra, { at, losses: context.losses })
  const written = {
    content: { parts: answerParts(context).encode(parts, `${at}.content.parts`), role: "model" },
    finishReason: encodeFinish(finish, { calls: parts.some(isClientCall), losses: context.losses }),
    index,
    // An answer of this protocol's own brings these as they were.
    ...(extra?.protocol !== PROTOCOL && besideContent(candidate)),
  }
  return joined(written, extra)
}

function isClientCall(part: Part): boolean {
  return part.kind === "tool-call" && part.runsAt === "client"
}

function besideContent({ parts, logprobs }: Candidate): JsonObject {
  const grounding = new Grounding()
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
