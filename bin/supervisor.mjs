// Keeps one gateway process running: starts it again after a crash, later each time, until it is told to stop.

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 10_000
/** A gateway that has served for so long has recovered from whatever crashed it before. */
const HEALTHY_MS = 60_000
/** Codes a gateway ends with by intention: when it was stopped, and when it cannot start or was stopped twice. */
const INTENDED = [0, 1]

export class Supervisor {
  #options
  #gateway
  #isStopping = false
  #isSupervised = false
  #waitMs = FIRST_WAIT_MS
  #startedAt = 0
  #timer

  /**
   * `start(onExit)` starts a process, and returns how to `kill` it and whether it `hasServed`, which a command that is no
   * gateway never does; `end({ code, signal })` ends the launcher in the same way; `report({ reason, waitMs })` tells of a
   * crash.
   */
  constructor({ start, end, report, now = () => performance.now(), later = setTimeout, earlier = clearTimeout }) {
    this.#options = { start, end, report, now, later, earlier }
  }

  run() {
    this.#timer = undefined
    this.#startedAt = this.#options.now()
    this.#gateway = this.#options.start((exit) => this.#ended(exit))
  }

  /** Passes a signal on, after which nothing is started again. */
  stop(signal) {
    this.#isStopping = true
    if (this.#timer === undefined) return this.#gateway?.kill(signal)
    this.#options.earlier(this.#timer)
    this.#options.end({ code: 0, signal: null })
  }

  #ended({ code, signal }) {
    this.#isSupervised ||= this.#gateway.hasServed()
    if (this.#isStopping || !this.#isSupervised || INTENDED.includes(code)) return this.#options.end({ code, signal })
    if (this.#options.now() - this.#startedAt >= HEALTHY_MS) this.#waitMs = FIRST_WAIT_MS
    const reason = signal === null ? `ended with code ${code}` : `was ended by ${signal}`
    const waitMs = this.#waitMs
    this.#waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)
    this.#options.report({ reason, waitMs })
    this.#timer = this.#options.later(() => this.run(), waitMs)
  }
}
