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
  readonly logprobs?: readonly TokenLogprob[]
  readonly extra?: Extra
}

/** How likely a token was, and what else was likely in its place. */
export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[]
  readonly others: readonly { readonly token: string; readonly logprob: number; readonly bytes?: readonly number[] }[]
}

export interface Finish {
  readonly reason: "stop" | "stop-sequence" | "length" | "tool-calls" | "filtered" | "refusal" | "paused" | "other"
  /** The vendor's own word, for its own protocol. */
  readonly word?: string
  readonly stopSequence?: string
}
