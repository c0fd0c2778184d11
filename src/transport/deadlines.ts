// Many deadlines on one timer: arming, moving and clearing one costs a set operation, not a timer.

export interface Deadline {
  /** Moves it to `ms` from now, and arms it again where it has fired. */
  extend(ms: number): void
  clear(): unknown
}

interface Armed {
  dueAt: number
  readonly expire: () => void
}

/** How late a deadline may fire. */
const RESOLUTION_MS = 100

export class Deadlines {
  private readonly armed = new Set<Armed>()
  private timer: ReturnType<typeof setInterval> | undefined

  arm(ms: number, expire: () => void): Deadline {
    const entry: Armed = { dueAt: 0, expire }
    const extend = (later: number) => {
      entry.dueAt = performance.now() + later
      this.armed.add(entry)
      this.timer ??= setInterval(() => this.sweep(), RESOLUTION_MS)
    }
    extend(ms)
    return { extend, clear: () => this.armed.delete(entry) }
  }

  private sweep(): void {
    const now = performance.now()
    for (const entry of this.armed) {
      if (entry.dueAt > now) continue
      this.armed.delete(entry)
      entry.expire()
    }
    if (this.armed.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }
}
