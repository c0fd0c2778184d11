// A vendor-neutral whole chat response.
import type { PassthroughFields } from "../passthrough-fields.ts"
import type { Usage } from "../usage.ts"
import type { ContentPart } from "./content-part.ts"

export interface ChatResponse {
  readonly id?: string
  /** Unix time in seconds. */
  readonly created?: number
  readonly model?: string
  readonly candidates: readonly ResponseCandidate[]
  readonly usage?: Usage
  readonly extra?: PassthroughFields
}

export interface ResponseCandidate {
  readonly index: number
  readonly parts: readonly ContentPart[]
  readonly finish?: CandidateFinish
  readonly logprobs?: readonly TokenLogprob[]
  readonly extra?: PassthroughFields
}

/** The probability of a token, and its alternatives. */
export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[]
  readonly others: readonly { readonly token: string; readonly logprob: number; readonly bytes?: readonly number[] }[]
}

export interface CandidateFinish {
  readonly reason: "stop" | "stop-sequence" | "length" | "tool-calls" | "filtered" | "refusal" | "paused" | "other"
  /** The vendor's own finish reason, for its own protocol. */
  readonly word?: string
  readonly stopSequence?: string
}
