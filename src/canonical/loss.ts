// Losses: parts that a translation could not express, reported instead of dropped silently.

export interface Loss {
  /** Path in the caller's request or the upstream's response, such as `messages[2].content[0].cache_control`. */
  readonly path: string
  /** `meaning` may change the response; `hint` does not. */
  readonly weight: "hint" | "meaning"
  readonly how: "dropped" | "approximated"
  readonly why: string
}

/** The losses that a codec reports. */
export type Losses = Loss[]
