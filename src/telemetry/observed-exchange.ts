// The facts of an exchange that telemetry receives. As in the log, text is the gateway's or the operator's own (names of
// the catalogue and the configuration, words of closed lists), never a caller's or an upstream's.

export interface ObservedError {
  /** From the closed list of errors. */
  readonly code: string
  readonly owner: "caller" | "gateway" | "upstream"
  /** What the upstream answered with, where the error comes from there. */
  readonly upstreamStatus?: number | undefined
}

/** Where an attempt goes. */
export interface ObservedTarget {
  /** The account's id, as the configuration calls it. */
  readonly provider: string
  /** The model's name in the catalogue, and at that provider. */
  readonly model: string
  readonly upstreamModel: string
  readonly baseUrl: string
}

/** Times are those of `performance.now()`. */
export interface ObservedAttempt extends ObservedTarget {
  readonly startedAt: number
  readonly endedAt: number
  readonly error: ObservedError | undefined
  /** Another, concurrent attempt answered first. */
  readonly outrun?: boolean
}

/** Token counts in buckets that do not overlap. */
export interface ObservedUsage {
  readonly input?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  readonly audioInput?: number
  readonly imageInput?: number
  readonly output?: number
  readonly reasoning?: number
  readonly audioOutput?: number
  readonly imageOutput?: number
}

export interface ObservedExchange {
  readonly protocol: string | undefined
  /** The model that was found; undefined as long as none was. */
  readonly model: string | undefined
  readonly provider: string | undefined
  readonly stream: boolean | undefined
  readonly status: number
  readonly outcome: "answered" | "refused" | "failed" | "client-gone"
  readonly error: ObservedError | undefined
  readonly attempts: number
  /** Those after which another target was tried, or none was left. */
  readonly failedAttempts: readonly ObservedAttempt[] | undefined
  readonly startedAt: number
  readonly firstEventAt: number | undefined
  readonly usage: ObservedUsage | undefined
  readonly costNanoUsd: bigint | undefined
}
