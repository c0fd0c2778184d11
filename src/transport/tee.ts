// Passes an event stream on while an observer reads along. The observer may fail; what passes does not change by it.
import { fromByteText, toByteText } from "./byte-text.ts"
import { decodeSse, type Frame } from "./sse.ts"
import type { Step } from "./step.ts"

export interface TeeOptions<Event> {
  readonly observer: Step<Frame, Event>
  /** What of a frame passes: its raw text as it is or edited, or "" to drop it. */
  readonly edit: (frame: Frame) => string
  /** Hears of each event in order, and may end what passes with this frame, or before it. */
  readonly onEvent: (event: Event) => Verdict
  readonly onObserverFailure: (cause: unknown) => void
}

export type Verdict = "go-on" | "last-frame" | "stop-before"

export class Tee<Event> {
  private readonly frames = decodeSse()
  private observing = true
  private verdict: Verdict = "go-on"

  constructor(private readonly options: TeeOptions<Event>) {}

  /** The bytes to pass on for these bytes; undefined when there are none yet. */
  push(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    return this.pass(this.frames.push(toByteText(bytes)))
  }

  /** The bytes that the end of the upstream's bytes lets go. */
  finish(): Uint8Array<ArrayBuffer> | undefined {
    return this.pass(this.frames.finish())
  }

  /** Asks the observer what the end of it all means. */
  conclude(): void {
    if (this.verdict === "go-on") this.observe(undefined)
  }

  private pass(frames: readonly Frame[]): Uint8Array<ArrayBuffer> | undefined {
    let text = ""
    for (const frame of frames) {
      if (this.verdict !== "go-on") break
      if (this.observe(frame) === "stop-before") break
      text += this.options.edit(frame)
    }
    return text === "" ? undefined : fromByteText(text)
  }

  /** Shows the observer a frame, or that there are no more. */
  private observe(frame: Frame | undefined): Verdict {
    if (!this.observing) return this.verdict
    const { observer, onEvent } = this.options
    let events: Event[] = []
    try {
      events = frame ? observer.push(frame) : observer.finish()
    } catch (cause) {
      this.observing = false
      this.options.onObserverFailure(cause)
    }
    for (const event of events) {
      this.verdict = onEvent(event)
      if (this.verdict !== "go-on") break
    }
    return this.verdict
  }
}
