// Encodes a whole response as its stream would be, of which only the end is used.

import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { PartStart } from "../../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { restorePassthrough } from "../passthrough-fields.ts"
import { ResponseBuilder } from "./encode-response-builder.ts"
import { NO_EVENTS } from "./encode-stream-output.ts"

export function encodeResponse(response: ChatResponse, context: ClientResponseContext): JsonObject {
  const { candidates, usage, created, extra } = response
  const answer = new ResponseBuilder(context, NO_EVENTS)
  answer.take({ type: "stream-start", ...(created !== undefined && { created }) })
  for (const { index: candidate, parts, finish, logprobs } of candidates) {
    const last = parts.findLastIndex(({ kind }) => kind === "text")
    for (const [index, part] of parts.entries()) {
      const place = { candidate, part: index }
      answer.take({ type: "part-start", ...place, start: startOf(part) })
      const text = textOf(part)
      if (text !== "") answer.take({ type: "part-delta", ...place, text })
      const citations = part.kind === "text" ? (part.citations ?? []) : []
      for (const citation of citations) answer.take({ type: "part-cite", ...place, citation })
      if (logprobs && index === last) answer.take({ type: "logprobs", candidate, tokens: logprobs })
      const sealed = "sealed" in part ? part.sealed : undefined
      answer.take({ type: "part-end", ...place, ...(sealed && { sealed }) })
    }
    if (finish) answer.take({ type: "candidate-end", candidate, finish })
  }
  if (usage) answer.take({ type: "usage", usage })
  answer.take({ type: "stream-end" })
  return restorePassthrough({ ...answer.ended }, extra, { at: "", losses: context.losses })
}

function startOf(part: ContentPart): PartStart {
  switch (part.kind) {
    case "text":
    case "refusal":
      return { kind: part.kind }
    case "reasoning":
      return { kind: part.kind, form: part.form }
    case "tool-call": {
      const { kind, id, name, input, runsAt, server, sealed } = part
      const more = { ...(server !== undefined && { server }), ...(sealed && { sealed }) }
      return { kind, id, name, ...(input && { input }), runsAt, ...more }
    }
    default:
      return { kind: "whole", part }
  }
}

function textOf(part: ContentPart): string {
  if (part.kind === "tool-call") return part.arguments
  return part.kind === "text" || part.kind === "refusal" || part.kind === "reasoning" ? part.text : ""
}
