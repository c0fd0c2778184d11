// The time and a repeated timer. Tests advance theirs by hand.

export interface TimerClock {
  /** Milliseconds since any fixed moment. */
  now(): number
  /** Calls `run` every `ms` milliseconds; returns the function that ends it. */
  repeat(ms: number, run: () => void): () => void
}

export const systemClock: TimerClock = {
  now: () => performance.now(),
  repeat(ms, run) {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
}
