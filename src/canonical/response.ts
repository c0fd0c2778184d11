// A complete answer, in no vendor's words.
import type { Extra } from "./extra.ts"
import type { Part } from "./part.ts"
import type { Usage } from "./usage.ts"

export interface ChatResponse {
  readonly id?: string
  /** Unix time in seconds. */
  readonly created?: number
  readonly model?: string
  readonly candidates: readonly Candidate[]
  readonly usage?: Usage
  readonly extra?: Extra
}

export interface Candidate {
  readonly index: number
  readonly parts: readonly Part[]
  readonly finish?: Finish
  readonly extra?: Extra
}

export interface Finish {
  readonly reason: "stop" | "stop-sequence" | "length" | "tool-calls" | "filtered" | "refusal" | "paused" | "other"
  /** The vendor's own word, for its own protocol. */
  readonly word?: string
  readonly stopSequence?: string
}
