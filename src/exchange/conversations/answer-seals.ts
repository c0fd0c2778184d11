// Finds the seals that follow all content of a response. Clients would receive them as its last part, which only their
// minter's protocol allows, so the gateway stores them instead.

import type { CandidateFinish } from "../../canonical/chat/chat-response.ts"
import type { ContentPart, ReasoningPart } from "../../canonical/chat/content-part.ts"
import type { AnswerText } from "./answer-text.ts"

export interface TrailingSeals {
  readonly text: AnswerText
  readonly seals: readonly ReasoningPart[]
}

/** The parts of one candidate, in order. */
export class AnswerSeals {
  private readonly texts: string[] = []
  private seals: ReasoningPart[] = []

  constructor(private readonly keep: ((seals: TrailingSeals) => void) | undefined) {}

  take(part: ContentPart): void {
    if (part.kind === "text" && part.text !== "") this.texts.push(part.text)
    else if (part.kind === "reasoning" && part.form === "hidden" && part.sealed && this.texts.length > 0) {
      this.seals.push(part)
    }
    // Seals before a call are kept with the call.
    if (part.kind === "tool-call" && part.runsAt === "client") this.seals = []
  }

  /** An answer that was cut off is not gone on with from its thoughts. */
  finish(finish: CandidateFinish | undefined): void {
    const { seals } = this
    this.seals = []
    if (seals.length === 0 || finish?.reason === "length" || finish?.reason === "filtered") return
    this.keep?.({ text: { whole: this.texts.join(""), last: this.texts.at(-1) ?? "" }, seals })
  }
}
