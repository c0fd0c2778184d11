// The counts of one load job.
import type { LoadResult } from "./load-job.ts"
import { percentile } from "./statistics.ts"

export class LoadTally {
  requests = 0
  errors = 0
  chunks = 0
  reads = 0
  events = 0
  readonly latencies: number[] = []
  readonly firstBytes: number[] = []
  readonly #errorSamples: string[] = []
  readonly #startedAt = performance.now()

  fail(what: string): void {
    this.errors++
    if (this.#errorSamples.length < 3) this.#errorSamples.push(what)
  }

  result(): LoadResult {
    const { requests, errors, chunks, reads, events, latencies, firstBytes } = this
    return {
      requests,
      errors,
      errorSamples: this.#errorSamples,
      elapsedMs: performance.now() - this.#startedAt,
      chunks,
      reads,
      events,
      latencyMs: { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) },
      firstByteMs: { p50: percentile(firstBytes, 0.5), p99: percentile(firstBytes, 0.99) },
    }
  }
}
