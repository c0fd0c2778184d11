// Passes an event stream on while an observer reads along. The observer may fail; what passes does not change by it.
import { fromByteText, toByteText } from "./byte-text.ts"
import { decodeSse, type Frame } from "./sse.ts"
import { type MayVary, type OnSaid, type Passage, Stencil } from "./stencil.ts"
import type { Step } from "./step.ts"

export interface TeeOptions<Event> {
  readonly observer: Step<Frame, Event>
  /** What of a frame passes: its raw text as it is or edited, or "" to drop it. */
  readonly edit: (frame: Frame) => string
  /** Hears of each frame before its events, and may end what passes before it. */
  readonly onFrame?: (frame: Frame) => Verdict
  /** Hears of each event in order, and may end what passes with this frame, or before it. */
  readonly onEvent: (event: Event) => Verdict
  readonly onObserverFailure: (cause: unknown) => void
  readonly growth: Growth<Event>
}

/** Which frames only say more of the same. What is like two of them passes without being shown to the observer. */
interface Growth<Event> {
  /** The part that grew, if these events say nothing else. */
  readonly partOf: (events: readonly Event[]) => string | undefined
  readonly mayVary: MayVary
  /** Told of what passed so. */
  readonly onAlike: (bytes: Uint8Array) => void
  /** Told of what it said. */
  readonly onSaid: OnSaid
}

/** A stream whose frames are not alike is not compared for ever. */
const MAX_VAIN_COMPARISONS = 8
/** A large frame costs more to compare than to read. */
const MAX_COMPARED_LENGTH = 8192

/** `hold-frame`: the last frame has come, and is not passed but kept for who ends the stream. */
export type Verdict = "go-on" | "last-frame" | "hold-frame" | "stop-before"

export class Tee<Event> {
  private readonly frames = decodeSse()
  private observing = true
  private verdict: Verdict = "go-on"
  /** The part the last frame has grown, if it did nothing else. */
  private grown: string | undefined
  private last: Passage | undefined
  private stencil: Stencil | undefined
  private vainComparisons = 0
  /** The last frame as it would have passed, where it is held back. */
  held: string | undefined

  constructor(private readonly options: TeeOptions<Event>) {}

  /** The bytes to pass on for these bytes; undefined when there are none yet. */
  push(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const alike = this.frames.isEmpty() ? this.stencil?.pass(bytes, this.options.growth.onSaid) : undefined
    if (!alike) return this.pass(this.frames.push(toByteText(bytes)))
    this.options.growth.onAlike(alike)
    return alike
  }

  /** The bytes that the end of the upstream's bytes lets go. */
  finish(): Uint8Array<ArrayBuffer> | undefined {
    return this.pass(this.frames.finish())
  }

  /** Asks the observer what the end of it all means. */
  conclude(): void {
    if (this.verdict === "go-on") this.observe(undefined)
  }

  /** What ends the stream was held back, whether it was a frame or the end of the bytes. */
  get isHeld(): boolean {
    return this.verdict === "hold-frame"
  }

  private pass(frames: readonly Frame[]): Uint8Array<ArrayBuffer> | undefined {
    let text = ""
    for (const frame of frames) {
      if (this.verdict !== "go-on") break
      this.verdict = this.options.onFrame?.(frame) ?? "go-on"
      if (this.verdict !== "go-on") break
      const before = this.grown
      if (this.observe(frame) === "stop-before") break
      const passed = this.options.edit(frame)
      this.compare({ raw: frame.raw, passed }, before)
      if (this.isHeld) this.held = passed
      else text += passed
    }
    return text === "" ? undefined : fromByteText(text)
  }

  /** Learns from frames that do nothing but grow the same part; forgets what it learnt when something else happens. */
  private compare(passage: Passage, grownBefore: string | undefined): void {
    const comparable = this.grown !== undefined && passage.raw.length <= MAX_COMPARED_LENGTH
    if (this.grown === undefined || this.grown !== grownBefore) this.stencil = undefined
    else if (comparable && this.last && !this.stencil && this.vainComparisons < MAX_VAIN_COMPARISONS) {
      this.stencil = Stencil.between(this.last, passage, this.options.growth.mayVary)
      if (!this.stencil) this.vainComparisons++
    }
    this.last = comparable ? passage : undefined
  }

  /** Shows the observer a frame, or that there are no more. */
  private observe(frame: Frame | undefined): Verdict {
    if (!this.observing) return this.verdict
    const { observer, onEvent, growth } = this.options
    let events: Event[] = []
    try {
      events = frame ? observer.push(frame) : observer.finish()
    } catch (cause) {
      this.observing = false
      this.options.onObserverFailure(cause)
    }
    this.grown = this.observing ? growth.partOf(events) : undefined
    for (const event of events) {
      this.verdict = onEvent(event)
      if (this.verdict !== "go-on") break
    }
    return this.verdict
  }
}
