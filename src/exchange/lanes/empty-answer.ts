// A response without content whose stop reason no other protocol has, such as a malformed function call. Clients
// would treat it as a finished turn, so it counts as a failed attempt.

import type { CandidateFinish, ChatResponse } from "../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../canonical/chat/content-part.ts"
import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"

/** Throws where no candidate has an answer and one of them stopped for an unknown reason. */
export function refuseEmptyAnswer({ candidates }: ChatResponse): void {
  if (candidates.some(({ parts }) => parts.some(isAnswer))) return
  const unknown = candidates.find(({ finish }) => finish?.reason === "other")
  if (unknown?.finish) throw emptyAnswerError(unknown.finish)
}

/** Thoughts alone answer nothing. */
function isAnswer(part: ContentPart): boolean {
  if (part.kind === "text" || part.kind === "refusal") return part.text !== ""
  return part.kind !== "reasoning"
}

/** The same for a stream. An answer with several candidates is whatever one of them says. */
export class EmptyAnswerCheck {
  private isAnswered = false
  private readonly thoughts = new Set<string>()

  /** The event, or the error that replaces it. */
  check(event: StreamEvent): StreamEvent {
    if (this.isAnswered) return event
    if (event.type === "part-start") {
      const { kind } = event.start
      if (kind === "reasoning") this.thoughts.add(`${event.candidate}.${event.part}`)
      this.isAnswered = kind === "tool-call" || kind === "whole"
    } else if (event.type === "part-delta") {
      this.isAnswered = event.text !== "" && !this.thoughts.has(`${event.candidate}.${event.part}`)
    } else if (event.type === "candidate-end" && event.candidate === 0 && event.finish.reason === "other") {
      return { type: "stream-error", error: emptyAnswerError(event.finish) }
    }
    return event
  }
}

function emptyAnswerError({ word = "" }: CandidateFinish): GatewayError {
  const reason = /^\w{1,64}$/.test(word) ? ` (stop reason: ${word})` : ""
  const message = `The model returned no content${reason}. Try again, or use another model.`
  return new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
