// Translates a stream between protocols, frame by frame and as early as possible.

import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import { asGatewayError, type GatewayError } from "../../canonical/gateway-error.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { StreamWriter } from "../../protocols/chat-codec.ts"
import type { FrameContext } from "../../protocols/contract.ts"
import { fromByteText, toByteText } from "../../transport/json/byte-text.ts"
import { decodeSse, type SseFrame, SseLimitError } from "../../transport/streams/sse.ts"
import type { StreamStep } from "../../transport/streams/stream-step.ts"
import { EmptyAnswerCheck } from "../lanes/empty-answer.ts"
import type { StreamPipe, StreamWatcher } from "../lanes/lane.ts"
import { type AnswerRestoration, changesNothing, StreamRestorer } from "../lanes/restore-answer.ts"

interface StreamTranslationOptions {
  readonly decoder: StreamStep<SseFrame, StreamEvent>
  readonly writer: StreamWriter
  readonly restoration: AnswerRestoration
  readonly watch: StreamWatcher
  /** Whether client and upstream share a protocol, so that every reason to stop has its word. */
  readonly sameProtocol: boolean
}

export class StreamTranslation implements StreamPipe {
  private readonly frames = decodeSse()
  private readonly restorer: StreamRestorer | undefined
  private readonly empty: EmptyAnswerCheck | undefined
  private over = false
  private isHeld = false
  /** What the end of the upstream's bytes had to say. */
  private closing = ""

  constructor(private readonly options: StreamTranslationOptions) {
    this.empty = options.sameProtocol ? undefined : new EmptyAnswerCheck()
    this.restorer = changesNothing(options.restoration) ? undefined : new StreamRestorer(options.restoration)
  }

  push(bytes: Uint8Array): Uint8Array | undefined {
    return this.pass(this.frames.push(toByteText(bytes)))
  }

  finish(): Uint8Array | undefined {
    return this.pass(this.frames.finish())
  }

  interpretEnd(): void {
    if (!this.over) this.closing = asCodecFault(() => this.writeEvents(this.options.decoder.finish()))
  }

  terminal(): string {
    return this.closing
  }

  end(usage: Usage | undefined): Uint8Array | undefined {
    if (!this.isHeld) return undefined
    const events: StreamEvent[] = [...(usage ? [{ type: "usage", usage } as const] : []), { type: "stream-end" }]
    const text = asCodecFault(() => events.map((event) => this.writeRestored(event)).join(""))
    return text === "" ? undefined : fromByteText(text)
  }

  errorFrame(error: GatewayError, context: FrameContext): string {
    return this.options.writer.errorFrame(error, context)
  }

  get errorPauseMs(): number | undefined {
    return this.options.writer.errorPauseMs
  }

  private pass(frames: readonly SseFrame[]): Uint8Array | undefined {
    const text = asCodecFault(() => {
      let text = ""
      for (const frame of frames) {
        if (this.over) break
        this.over = this.options.watch.onFrame(frame) !== "go-on"
        if (!this.over) text += this.writeEvents(this.options.decoder.push(frame))
      }
      return text
    })
    return text === "" ? undefined : fromByteText(text)
  }

  private writeEvents(events: readonly StreamEvent[]): string {
    let text = ""
    for (const decoded of events) {
      if (this.over) break
      const event = this.empty ? this.empty.check(decoded) : decoded
      const verdict = this.options.watch.onEvent(event)
      this.over = verdict !== "go-on"
      this.isHeld = verdict === "hold-frame"
      if (verdict === "stop-before" || this.isHeld) break
      text += this.writeRestored(event)
    }
    return text
  }

  private writeRestored(event: StreamEvent): string {
    if (!this.restorer) return this.writeEvent(event)
    let text = ""
    for (const each of this.restorer.push(event)) text += this.writeEvent(each)
    return text
  }

  private writeEvent(event: StreamEvent): string {
    const pieces = this.options.writer.push(event)
    return pieces.length === 1 ? (pieces[0] ?? "") : pieces.join("")
  }
}

/** A codec that fails is a fault of ours, and not the connection's. */
function asCodecFault(say: () => string): string {
  try {
    return say()
  } catch (thrown) {
    throw thrown instanceof SseLimitError ? thrown : asGatewayError(thrown)
  }
}
