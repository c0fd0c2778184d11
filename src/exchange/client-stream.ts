// The stream a client reads: an upstream's bytes as they are pulled, heart-beats in silence, and one proper end.
// Being pulled, a slow reader slows the upstream down instead of filling memory.
import { setTimeout } from "node:timers/promises"
import { asGatewayError } from "../canonical/error.ts"
import type { Reading } from "../protocols/contract.ts"
import { fromByteText } from "../transport/byte-text.ts"
import type { Deadline } from "../transport/deadlines.ts"
import type { Call, House } from "./call.ts"
import { ClientGoneError, noteFailure } from "./record.ts"
import type { ReadRequest } from "./request.ts"
import type { ReadResult, UpstreamStream } from "./upstream-stream.ts"

type Controller = ReadableStreamDefaultController<Uint8Array>

/** `source` may still be opening: then the stream begins with a heart-beat. */
export function clientStream(
  source: UpstreamStream | Promise<UpstreamStream>,
  { call, house, request }: { call: Call; house: House; request: ReadRequest },
): ReadableStream<Uint8Array> {
  return new ReadableStream(new ClientStream(source, call, house, request.reading))
}

class ClientStream {
  private readonly heartbeat: Uint8Array
  private opened: UpstreamStream | undefined
  private controller: Controller | undefined
  private beat: Deadline | undefined
  /** The client wants more, and we wait for the upstream. */
  private pulling = false
  private progressAt = performance.now()
  private over = false
  private failing = false

  constructor(
    private readonly source: UpstreamStream | Promise<UpstreamStream>,
    private readonly call: Call,
    private readonly house: House,
    private readonly reading: Reading,
  ) {
    this.opened = source instanceof Promise ? undefined : source
    this.heartbeat = fromByteText(call.protocol.heartbeat)
  }

  start(controller: Controller): void {
    this.controller = controller
    const { deadlines, timeouts } = this.house
    this.beat = deadlines.arm(timeouts.heartbeatMs, () => this.pulse())
    if (!this.opened) controller.enqueue(this.heartbeat)
  }

  pull(): Promise<void> | void {
    this.pulling = true
    if (!this.opened) return this.open()
    const held = this.opened.held.shift()
    if (!held) return this.opened.read().then(this.onRead, this.onFailure)
    this.send(held)
    if (this.opened.held.length === 0) this.endWith(this.opened)
  }

  cancel(): void {
    if (!this.over) this.leave()
  }

  private async open(): Promise<void> {
    try {
      this.opened = await this.source
    } catch (thrown) {
      return this.onFailure(thrown)
    }
    if (!this.over) await this.pull()
  }

  private readonly onRead = (result: ReadResult): Promise<void> | void => {
    if (this.over || !this.opened) return
    let bytes: Uint8Array | undefined
    try {
      bytes = this.opened.take(result)
    } catch (thrown) {
      return this.onFailure(thrown)
    }
    if (bytes) this.send(bytes)
    if (!this.endWith(this.opened) && !bytes) return this.pull()
  }

  /** Ends where the upstream has, well or badly. */
  private endWith(upstream: UpstreamStream): boolean {
    if (upstream.error) void this.onFailure(upstream.error)
    else if (upstream.ended) this.end()
    return this.over || this.failing
  }

  private readonly onFailure = async (thrown: unknown): Promise<void> => {
    if (this.over || this.failing) return
    this.failing = true
    const { call } = this
    const error = asGatewayError(this.opened ? this.opened.fail(thrown) : thrown)
    noteFailure(call.record, error)
    // Where nobody has answered yet, there is still a way in which the stream would have been written.
    const written =
      this.opened?.passage ?? call.protocol.relayStream({ model: call.record.model ?? "", reading: this.reading })
    if (written.errorPauseMs) await setTimeout(written.errorPauseMs)
    if (this.over) return
    const context = { requestId: call.record.requestId, unixTime: Math.floor(Date.now() / 1000) }
    this.send(fromByteText(written.errorFrame(error, context)))
    this.end()
  }

  private send(bytes: Uint8Array): void {
    this.controller?.enqueue(bytes)
    this.pulling = false
    this.progressAt = performance.now()
  }

  private end(): void {
    this.opened?.close()
    this.settle()
    this.controller?.close()
  }

  private leave(): void {
    this.call.record.outcome = "client-gone"
    this.opened?.fail(new ClientGoneError())
    this.settle()
  }

  private settle(): void {
    this.over = true
    this.beat?.clear()
    this.call.finish()
  }

  /** Keeps a silent stream alive, and cuts off a client that takes nothing any more. */
  private pulse(): void {
    const { heartbeatMs, stalledMs } = this.house.timeouts
    const idleMs = performance.now() - this.progressAt
    if (!this.pulling && idleMs >= stalledMs) {
      this.leave()
      this.call.cutOff()
      this.controller?.error(new ClientGoneError())
      return
    }
    const due = this.pulling && idleMs >= heartbeatMs
    if (due) {
      this.controller?.enqueue(this.heartbeat)
      this.progressAt = performance.now()
    }
    this.beat?.extend(due || !this.pulling ? heartbeatMs : heartbeatMs - idleMs)
  }
}
