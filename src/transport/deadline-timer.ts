// Many deadlines on one timer: arming, moving and clearing one costs no timer of its own.
import { CompactSet } from "./event-loop/compact-set.ts"
import { systemClock, type TimerClock } from "./event-loop/timer-clock.ts"

/** How late a deadline may fire. */
const RESOLUTION_MS = 100

export class DeadlineTimer {
  private readonly armed = new CompactSet<Deadline>()
  private endTimer: (() => void) | undefined

  constructor(readonly clock: TimerClock = systemClock) {}

  arm(ms: number, expire: () => void): Deadline {
    const deadline = new Deadline(this, expire)
    deadline.extend(ms)
    return deadline
  }

  /** For deadlines themselves. */
  enter(deadline: Deadline): void {
    this.armed.enter(deadline)
    this.endTimer ??= this.clock.repeat(RESOLUTION_MS, () => this.sweep())
  }

  leave(deadline: Deadline): void {
    this.armed.leave(deadline)
  }

  private sweep(): void {
    const now = this.clock.now()
    this.armed.each((deadline) => deadline.check(now))
    if (this.armed.size > 0) return
    this.endTimer?.()
    this.endTimer = undefined
  }
}

export class Deadline {
  place = -1
  private dueAt = 0

  constructor(
    private readonly deadlines: DeadlineTimer,
    private readonly expire: () => void,
  ) {}

  /** Moves it to `ms` from now, and arms it again where it has fired or was cleared. */
  extend(ms: number): void {
    this.dueAt = this.deadlines.clock.now() + ms
    this.deadlines.enter(this)
  }

  clear(): void {
    this.deadlines.leave(this)
  }

  check(now: number): void {
    if (this.dueAt > now) return
    this.clear()
    this.expire()
  }
}
