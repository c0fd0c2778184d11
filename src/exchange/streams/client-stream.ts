// The stream a client reads: an upstream's bytes as they are pulled, heart-beats in silence, and one proper end.
// Being pulled, a slow reader slows the upstream down instead of filling memory.
import { setTimeout } from "node:timers/promises"
import { asGatewayError } from "../../canonical/gateway-error.ts"
import type { Deadline } from "../../transport/deadline-timer.ts"
import { fromByteText } from "../../transport/json/byte-text.ts"
import { settleUnanswered } from "../charge/settle-unanswered.ts"
import { ClientGoneError } from "../client-gone-error.ts"
import type { ResponseSink, ResponseStream } from "../client-response.ts"
import { ANSWERED, CLIENT_GONE, type ExchangeEnd, failedEnd } from "../record/exchange-record.ts"
import type { ReservedExchange } from "../reserved-exchange.ts"
import type { ReadResult, UpstreamStream } from "./upstream-stream.ts"

interface ClientStreamOptions extends ReservedExchange {
  readonly contentType: string
}

/** `source` may still be opening: then the stream begins with a heart-beat. */
export function openClientStream(
  source: UpstreamStream | Promise<UpstreamStream>,
  options: ClientStreamOptions,
): ResponseStream {
  return new ClientStream(source, options)
}

class ClientStream implements ResponseStream {
  private readonly heartbeat: Uint8Array
  private opened: UpstreamStream | undefined
  private sink: ResponseSink | undefined
  private beat: Deadline | undefined
  /** The client wants more, and we wait for the upstream. */
  private pulling = false
  private progressAt = performance.now()
  private over = false
  private failing = false
  private end: ExchangeEnd = ANSWERED

  constructor(
    private readonly source: UpstreamStream | Promise<UpstreamStream>,
    private readonly options: ClientStreamOptions,
  ) {
    this.opened = source instanceof Promise ? undefined : source
    this.heartbeat = fromByteText(options.call.protocol.heartbeat)
  }

  start(sink: ResponseSink): void {
    this.sink = sink
    const { deadlines, timeouts } = this.options.deps
    this.beat = deadlines.arm(timeouts.heartbeatMs, () => this.pulse())
    if (!this.opened) sink.enqueue(this.heartbeat)
  }

  pull(): Promise<void> | void {
    this.pulling = true
    if (!this.opened) return this.open()
    const held = this.opened.held.shift()
    if (!held) return this.opened.read().then(this.onRead, this.onFailure)
    if (this.opened.held.length === 0) return this.passCovered(held, this.opened)
    this.send(held)
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
    return this.passCovered(bytes, this.opened)
  }

  /** What outgrows its hold waits until more is held, and is not delivered where that is refused. */
  private passCovered(bytes: Uint8Array | undefined, upstream: UpstreamStream): Promise<void> | void {
    const covering = upstream.cover()
    if (!covering) return this.pass(bytes, upstream)
    return covering.then(() => (this.over ? undefined : this.pass(bytes, upstream)), this.onFailure)
  }

  /** Ends where the upstream has, well or badly; what is owed is booked before the last byte leaves. */
  private pass(bytes: Uint8Array | undefined, upstream: UpstreamStream): Promise<void> | void {
    if (upstream.ended) return this.endWell(bytes, upstream)
    if (bytes) this.send(bytes)
    if (upstream.error) return this.onFailure(upstream.error)
    if (!bytes) return this.pull()
  }

  private async endWell(last: Uint8Array | undefined, upstream: UpstreamStream): Promise<void> {
    this.beat?.clear()
    const { holdsEnd } = upstream
    // Content does not wait for its count.
    if (holdsEnd && last) this.send(last)
    let end = holdsEnd ? undefined : last
    const bytes = () => {
      if (holdsEnd) end ??= upstream.end()
      return end
    }
    await upstream.settle({ waiter: "answer", last: { contentType: this.options.contentType, bytes } })
    if (this.over) return
    const rest = bytes()
    if (rest) this.send(rest)
    upstream.close()
    this.finish()
    this.sink?.close()
  }

  private readonly onFailure = async (thrown: unknown): Promise<void> => {
    if (this.over || this.failing) return
    this.failing = true
    const { call, request } = this.options
    const error = asGatewayError(this.opened ? this.opened.fail(thrown) : thrown)
    this.end = failedEnd(error)
    await (this.opened ? this.opened.settle({ waiter: "error", error }) : settleUnanswered(this.options, thrown, error))
    // Without a response, the error still uses the planned stream format.
    const written =
      this.opened?.pipe ?? call.protocol.relayStream({ model: call.progress.model ?? "", reading: request.reading })
    if (written.errorPauseMs) await setTimeout(written.errorPauseMs)
    if (this.over) return
    const context = { requestId: call.progress.requestId, unixTime: Math.floor(Date.now() / 1000) }
    this.send(fromByteText(written.errorFrame(error, context)))
    this.opened?.close()
    this.finish()
    this.sink?.close()
  }

  private send(bytes: Uint8Array): void {
    this.sink?.enqueue(bytes)
    this.options.chargeSession?.sent(bytes)
    this.pulling = false
    this.progressAt = performance.now()
  }

  private leave(): void {
    this.over = true
    this.beat?.clear()
    this.end = { ...this.end, outcome: CLIENT_GONE.outcome }
    void this.settleLeft().finally(() => this.finish())
  }

  private async settleLeft(): Promise<void> {
    try {
      const opened = await this.source
      await opened.leave()
      await opened.settle({ waiter: "departed", last: { contentType: this.options.contentType, cutShort: true } })
    } catch (thrown) {
      await settleUnanswered(this.options, thrown)
    }
  }

  private finish(): void {
    this.over = true
    this.beat?.clear()
    this.options.call.finish(this.end)
  }

  /** Keeps a silent stream alive, and cuts off a client that takes nothing any more. */
  private pulse(): void {
    const { call, deps } = this.options
    const { heartbeatMs, stalledMs } = deps.timeouts
    const idleMs = performance.now() - this.progressAt
    if (!this.pulling && idleMs >= stalledMs) {
      this.leave()
      call.closeConnection()
      this.sink?.error(new ClientGoneError())
      return
    }
    const due = this.pulling && idleMs >= heartbeatMs
    if (due) {
      this.sink?.enqueue(this.heartbeat)
      this.progressAt = performance.now()
    }
    this.beat?.extend(due || !this.pulling ? heartbeatMs : heartbeatMs - idleMs)
  }
}
