// Losses: what a translation could not express, reported instead of dropped in silence.

export interface Loss {
  /** Where it stood in the caller's request or the upstream's answer, such as `messages[2].content[0].cache_control`. */
  readonly path: string
  /** `meaning` may change the answer; `hint` does not. */
  readonly weight: "hint" | "meaning"
  readonly how: "dropped" | "approximated"
  readonly why: string
}

/** Where a codec reports what it could not carry. */
export type Losses = Loss[]
