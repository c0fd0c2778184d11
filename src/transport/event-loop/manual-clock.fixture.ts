// A clock that stands still until a test advances it.
import type { TimerClock } from "./timer-clock.ts"

interface RepeatedTimer {
  readonly everyMs: number
  dueAt: number
  readonly run: () => void
}

export class ManualClock implements TimerClock {
  private readonly timers = new Set<RepeatedTimer>()
  private time = 1000

  /** The timers that have not been ended. */
  get running(): number {
    return this.timers.size
  }

  now(): number {
    return this.time
  }

  repeat(ms: number, run: () => void): () => void {
    const timer = { everyMs: ms, dueAt: this.time + ms, run }
    this.timers.add(timer)
    return () => void this.timers.delete(timer)
  }

  /** Moves the time on, and runs every timer that falls due on the way. */
  advance(ms: number): void {
    for (const end = this.time + ms; this.time < end; ) {
      const nextAt = Math.min(end, ...[...this.timers].map(({ dueAt }) => dueAt))
      this.time = nextAt
      for (const timer of this.timers) {
        if (timer.dueAt > nextAt) continue
        timer.dueAt += timer.everyMs
        timer.run()
      }
    }
  }
}
