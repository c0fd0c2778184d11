// The jobs of the load tool and their results.

export type LoadPlan =
  /** Every connection sends its next request as soon as it has its answer. */
  | { kind: "closed"; durationMs: number }
  /** Requests fall due at an even rate, whether or not earlier ones were answered. */
  | { kind: "paced"; perSecond: number; durationMs: number }
  /** Every connection makes this many requests; the connections begin one after the other. */
  | { kind: "counted"; perConnection: number; staggerMs: number }

export type LoadJob = {
  port: number
  path: string
  headers: Record<string, string>
  /** Used in rotation, one per request; empty if the headers have the key. */
  keys: readonly string[]
  body: string
  connections: number
  plan: LoadPlan
  /** For streams: how many events each answer must have; 0 for unary answers. */
  minimumEvents: number
  /** The end of a whole stream. */
  endMark: string
}

type LatencyPercentiles = { p50: number; p99: number }

export type LoadResult = {
  requests: number
  errors: number
  /** The first few, for people. */
  errorSamples: string[]
  elapsedMs: number
  /** Chunks of chunked answers, and reads from the sockets, as they came. */
  chunks: number
  reads: number
  events: number
  latencyMs: LatencyPercentiles
  /** Until the first byte of the answer's body. */
  firstByteMs: LatencyPercentiles
}
