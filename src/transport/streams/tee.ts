// Passes an event stream on while an observer reads along. The observer may fail; what passes does not change by it.
import { fromByteText, toByteText } from "../json/byte-text.ts"
import { FrameStencil, type MayVary, type OnStencilText, type PassedFrame } from "./frame-stencil.ts"
import { decodeSse, type SseFrame } from "./sse.ts"
import type { StreamStep } from "./stream-step.ts"

export interface TeeOptions<Event> {
  readonly observer: StreamStep<SseFrame, Event>
  /** What of a frame passes: its raw text as it is or edited, or "" to drop it. */
  readonly edit: (frame: SseFrame) => string
  /** Hears of each frame before its events, and may end what passes before it. */
  readonly onFrame?: (frame: SseFrame) => FrameVerdict
  /** Hears of each event in order, and may end what passes with this frame, or before it. */
  readonly onEvent: (event: Event) => FrameVerdict
  readonly onObserverFailure: (cause: unknown) => void
  readonly growth: FrameGrowth<Event>
}

/** Which frames only say more of the same. What is like two of them passes without being shown to the observer. */
interface FrameGrowth<Event> {
  /** The part that grew, if these events say nothing else. */
  readonly partOf: (events: readonly Event[]) => string | undefined
  readonly mayVary: MayVary
  /** Called with the bytes that passed this way. */
  readonly onAlike: (bytes: Uint8Array) => void
  /** Called with its output text. */
  readonly onText: OnStencilText
}

/** A stream whose frames are not alike is not compared for ever. */
const MAX_VAIN_COMPARISONS = 8
/** A large frame costs more to compare than to read. */
const MAX_COMPARED_LENGTH = 8192

/** `hold-frame`: the last frame has come, and is not passed but kept for who ends the stream. */
export type FrameVerdict = "go-on" | "last-frame" | "hold-frame" | "stop-before"

export class Tee<Event> {
  private readonly frames = decodeSse()
  private observing = true
  private verdict: FrameVerdict = "go-on"
  /** The part the last frame has grown, if it did nothing else. */
  private grownPart: string | undefined
  private last: PassedFrame | undefined
  private stencil: FrameStencil | undefined
  private vainComparisons = 0
  /** The last frame as it would have passed, where it is held back. */
  held: string | undefined

  constructor(private readonly options: TeeOptions<Event>) {}

  /** The bytes to pass on for these bytes; undefined when there are none yet. */
  push(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const alike = this.frames.isEmpty() ? this.stencil?.pass(bytes, this.options.growth.onText) : undefined
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

  private pass(frames: readonly SseFrame[]): Uint8Array<ArrayBuffer> | undefined {
    let text = ""
    for (const frame of frames) {
      if (this.verdict !== "go-on") break
      this.verdict = this.options.onFrame?.(frame) ?? "go-on"
      if (this.verdict !== "go-on") break
      const before = this.grownPart
      if (this.observe(frame) === "stop-before") break
      const passed = this.options.edit(frame)
      this.compare({ raw: frame.raw, passed }, before)
      if (this.isHeld) this.held = passed
      else text += passed
    }
    return text === "" ? undefined : fromByteText(text)
  }

  /** Learns from frames that do nothing but grow the same part; forgets what it learnt when something else happens. */
  private compare(passage: PassedFrame, grownBefore: string | undefined): void {
    const comparable = this.grownPart !== undefined && passage.raw.length <= MAX_COMPARED_LENGTH
    if (this.grownPart === undefined || this.grownPart !== grownBefore) this.stencil = undefined
    else if (comparable && this.last && !this.stencil && this.vainComparisons < MAX_VAIN_COMPARISONS) {
      this.stencil = FrameStencil.between(this.last, passage, this.options.growth.mayVary)
      if (!this.stencil) this.vainComparisons++
    }
    this.last = comparable ? passage : undefined
  }

  /** Shows the observer a frame, or that there are no more. */
  private observe(frame: SseFrame | undefined): FrameVerdict {
    if (!this.observing) return this.verdict
    const { observer, onEvent, growth } = this.options
    let events: Event[] = []
    try {
      events = frame ? observer.push(frame) : observer.finish()
    } catch (cause) {
      this.observing = false
      this.options.onObserverFailure(cause)
    }
    this.grownPart = this.observing ? growth.partOf(events) : undefined
    for (const event of events) {
      this.verdict = onEvent(event)
      if (this.verdict !== "go-on") break
    }
    return this.verdict
  }
}
