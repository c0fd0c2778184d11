// A stream on its way from one protocol to another: frames are read, and what they say is written as soon as it is known.
import { asGatewayError, type GatewayError } from "../canonical/error.ts"
import type { StreamEvent } from "../canonical/stream.ts"
import type { Usage } from "../canonical/usage.ts"
import type { StreamWriter } from "../protocols/codec.ts"
import type { FrameContext } from "../protocols/contract.ts"
import { fromByteText, toByteText } from "../transport/byte-text.ts"
import { decodeSse, type Frame, SseLimitError } from "../transport/sse.ts"
import type { Step } from "../transport/step.ts"
import { EmptyAnswerCheck } from "./empty-answer.ts"
import type { Passage, Watch } from "./lane.ts"
import { isIdle, MendedStream, type Mending } from "./mended-answer.ts"

interface PassageOptions {
  readonly decoder: Step<Frame, StreamEvent>
  readonly writer: StreamWriter
  readonly mending: Mending
  readonly watch: Watch
  /** Whether client and upstream share a protocol, so that every reason to stop has its word. */
  readonly sameProtocol: boolean
}

export class TranslatedPassage implements Passage {
  private readonly frames = decodeSse()
  private readonly mended: MendedStream | undefined
  private readonly empty: EmptyAnswerCheck | undefined
  private over = false
  private isHeld = false
  /** What the end of the upstream's bytes had to say. */
  private closing = ""

  constructor(private readonly options: PassageOptions) {
    this.empty = options.sameProtocol ? undefined : new EmptyAnswerCheck()
    this.mended = isIdle(options.mending) ? undefined : new MendedStream(options.mending)
  }

  push(bytes: Uint8Array): Uint8Array | undefined {
    return this.pass(this.frames.push(toByteText(bytes)))
  }

  finish(): Uint8Array | undefined {
    return this.pass(this.frames.finish())
  }

  conclude(): void {
    if (!this.over) this.closing = guarded(() => this.written(this.options.decoder.finish()))
  }

  terminal(): string {
    return this.closing
  }

  end(usage: Usage | undefined): Uint8Array | undefined {
    if (!this.isHeld) return undefined
    const events: StreamEvent[] = [...(usage ? [{ type: "usage", usage } as const] : []), { type: "stream-end" }]
    const text = guarded(() => events.map((event) => this.mendedWriting(event)).join(""))
    return text === "" ? undefined : fromByteText(text)
  }

  errorFrame(error: GatewayError, context: FrameContext): string {
    return this.options.writer.errorFrame(error, context)
  }

  get errorPauseMs(): number | undefined {
    return this.options.writer.errorPauseMs
  }

  private pass(frames: readonly Frame[]): Uint8Array | undefined {
    const text = guarded(() => {
      let said = ""
      for (const frame of frames) {
        if (this.over) break
        this.over = this.options.watch.onFrame(frame) !== "go-on"
        if (!this.over) said += this.written(this.options.decoder.push(frame))
      }
      return said
    })
    return text === "" ? undefined : fromByteText(text)
  }

  private written(events: readonly StreamEvent[]): string {
    let text = ""
    for (const told of events) {
      if (this.over) break
      const event = this.empty ? this.empty.check(told) : told
      const verdict = this.options.watch.onEvent(event)
      this.over = verdict !== "go-on"
      this.isHeld = verdict === "hold-frame"
      if (verdict === "stop-before" || this.isHeld) break
      text += this.mendedWriting(event)
    }
    return text
  }

  private mendedWriting(event: StreamEvent): string {
    if (!this.mended) return this.writing(event)
    let text = ""
    for (const each of this.mended.push(event)) text += this.writing(each)
    return text
  }

  private writing(event: StreamEvent): string {
    const pieces = this.options.writer.push(event)
    return pieces.length === 1 ? (pieces[0] ?? "") : pieces.join("")
  }
}

/** A codec that fails is a fault of ours, and not the connection's. */
function guarded(say: () => string): string {
  try {
    return say()
  } catch (thrown) {
    throw thrown instanceof SseLimitError ? thrown : asGatewayError(thrown)
  }
}
