// Load shedding: rejects every request when all slots are taken, a key beyond its share of slots, and most requests when
// the event loop is late. It has no clock and no timer of its own.
import { GatewayError } from "../canonical/gateway-error.ts"

/** Reason for rejecting a request before its body is read. */
export type ShedReason = "in_flight" | "key_share" | "loop_delay"

const MESSAGES: Readonly<Record<ShedReason, string>> = {
  in_flight: "The gateway is at its limit of concurrent requests. Try again.",
  key_share:
    "The gateway is busy, and this API key already runs its share of requests. Wait for one to finish, or try again.",
  loop_delay: "The gateway is overloaded. Try again.",
}

export function overloadedError(reason: ShedReason): GatewayError {
  return new GatewayError("overloaded", MESSAGES[reason], { retryAfterMs: 1000 })
}

export class LoadShedder {
  private readonly slots: SlotPool
  private readonly loop = new LoopDelayGuard()

  constructor(places: number) {
    this.slots = new SlotPool(places)
  }

  get inFlight(): number {
    return this.slots.taken
  }

  /** The reason to reject this key now; undefined if it may proceed. */
  refusal(key: string, nowMs: number): ShedReason | undefined {
    const refusal = this.slots.refusal(key, nowMs)
    // Where nothing runs, it is not for what runs that the loop is late.
    return refusal ?? (this.slots.taken > 0 && this.loop.refuses() ? "loop_delay" : undefined)
  }

  enter(key: string): void {
    this.slots.enter(key)
  }

  leave(key: string, nowMs: number): void {
    this.slots.leave(key, nowMs)
  }

  /** Receives each event loop delay sample. */
  onLoopDelay(delayMs: number): void {
    this.loop.onLoopDelay(delayMs)
  }
}

/**
 * A key at its fair share gets another slot only while it holds no more slots than are free. So a pool that is at most
 * half full rejects no request, a single key may take all slots, and unused shares go to busy keys, but never the last
 * slot. The fair share is the number of slots divided by the keys that hold one, or recently held or were refused one.
 */
export class SlotPool {
  taken = 0
  /** Also of keys that hold no place just now: a Map that as many come to as go from costs the collector much. */
  private readonly holders = new Map<string, SlotHolder>()
  private holding = 0
  /** How many are absent since this span of time, and since the one before. */
  private lately = 0
  private before = 0
  private span = 0

  constructor(readonly count: number) {}

  refusal(key: string, nowMs: number): "in_flight" | "key_share" | undefined {
    const free = this.count - this.taken
    const held = this.holders.get(key)?.held ?? 0
    if (free > 0 && (held <= free || held < this.fairShare(nowMs))) return undefined
    if (held === 0) this.noteRefused(key, nowMs)
    return free > 0 ? "key_share" : "in_flight"
  }

  enter(key: string): void {
    const holder = this.holder(key)
    if (holder.held === 0) {
      this.endAbsence(holder)
      this.holding++
    }
    holder.held++
    this.taken++
  }

  leave(key: string, nowMs: number): void {
    this.forgetAbsent(nowMs)
    const holder = this.holder(key)
    holder.held--
    this.taken--
    if (holder.held > 0) return
    this.holding--
    this.beginAbsence(holder)
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.holders.size
  }

  /** How many keys hold a place, or lately held or were refused one. */
  keys(nowMs: number): number {
    this.forgetAbsent(nowMs)
    return this.holding + this.lately + this.before
  }

  /** Rounded up: the shares together must not leave slots that no key may take. */
  private fairShare(nowMs: number): number {
    return Math.ceil(this.count / this.keys(nowMs))
  }

  private holder(key: string): SlotHolder {
    const known = this.holders.get(key)
    if (known) return known
    const holder = { held: 0, absentIn: NO_SPAN }
    this.holders.set(key, holder)
    return holder
  }

  private noteRefused(key: string, nowMs: number): void {
    this.forgetAbsent(nowMs)
    const holder = this.holder(key)
    this.endAbsence(holder)
    this.beginAbsence(holder)
  }

  private beginAbsence(holder: SlotHolder): void {
    holder.absentIn = this.span
    this.lately++
  }

  private endAbsence(holder: SlotHolder): void {
    if (holder.absentIn === this.span) this.lately--
    else if (holder.absentIn === this.span - 1) this.before--
    holder.absentIn = NO_SPAN
  }

  /** Before anybody's absence is noted: who has long been absent is forgotten. */
  private forgetAbsent(nowMs: number): void {
    const span = Math.floor(nowMs / ABSENT_MS)
    if (span <= this.span) return
    this.before = span === this.span + 1 ? this.lately : 0
    this.lately = 0
    this.span = span
    for (const [key, { held, absentIn }] of this.holders)
      if (held === 0 && absentIn < span - 1) this.holders.delete(key)
  }
}

interface SlotHolder {
  held: number
  /** Since which span it has been without a place. */
  absentIn: number
}

/**
 * How long, up to twice, an absent key still counts: longer than the advised wait. Otherwise the busiest key would take
 * its slots.
 */
const ABSENT_MS = 2000
/** Of those that hold a place. */
const NO_SPAN = -2

/** What a look adds is bounded, and it takes several: one pause of any length, as of a debugger, is one look. */
const MOST_COUNTED_MS = 500
const LOOKS = 8
/** An exchange waits for several turns of the loop: at this delay it takes about a second longer than it should. */
const LATE_MS = 200
const RECOVERED_MS = 100
/** So that a delay that was measured wrongly, or is a neighbour's doing, never closes the door. */
const ONE_PASSES_OF = 8

/** An event loop that is late for long. Late and recovered have bounds of their own, so that it is not both in turns. */
export class LoopDelayGuard {
  private decayedMs = 0
  private isLate = false
  private observed = 0

  onLoopDelay(delayMs: number): void {
    const counted = Math.min(Math.max(delayMs, 0), MOST_COUNTED_MS)
    this.decayedMs += (counted - this.decayedMs) / LOOKS
    if (this.decayedMs >= LATE_MS) this.isLate = true
    else if (this.decayedMs < RECOVERED_MS) this.isLate = false
  }

  /** Called once per request. */
  refuses(): boolean {
    return this.isLate && ++this.observed % ONE_PASSES_OF !== 0
  }
}
