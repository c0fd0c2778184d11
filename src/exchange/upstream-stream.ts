// One upstream stream as it is read: the bytes to pass on, until its terminal event or its failure.
import { GatewayError } from "../canonical/error.ts"
import { isMeaningful, type StreamEvent } from "../canonical/stream.ts"
import { encodeByteText, fromByteText } from "../transport/byte-text.ts"
import type { Deadline } from "../transport/deadlines.ts"
import { failure } from "../transport/http-client.ts"
import { SseLimitError } from "../transport/sse.ts"
import { Tee, type Verdict } from "../transport/tee.ts"
import { asUpstreamError } from "./attempt.ts"
import { type RunningCall, timedOut } from "./running.ts"
import { type Attempt, callUpstream, upstreamError, withoutCredential } from "./upstream.ts"

/** Openers are held back until the first meaningful event, but not beyond this. */
const MAX_HELD_BYTES = 256 * 1024
/** After the terminal event the rest is read for so long, so that the connection can be used again. */
const DRAIN_MS = 1000

type ReadResult = { readonly done: true } | { readonly done: false; readonly value: Uint8Array }

interface Reader {
  read(): Promise<ReadResult>
}

/** Before the upstream has answered there is nothing to read. */
const NOBODY: Reader = { read: () => Promise.resolve({ done: true }) }

export class UpstreamStream {
  /** What came before, and with, the first meaningful event. */
  readonly held: Uint8Array[] = []
  private readonly running: RunningCall
  private readonly tee: Tee<StreamEvent>
  private readonly silence: Deadline
  private readonly gapMs: number
  private reader: Reader = NOBODY
  private meaningful = false
  /** Nothing is held back any more. */
  private committed = false
  private ended = false
  private blind = false
  private callOpen = false
  private error: GatewayError | undefined

  private constructor(private readonly attempt: Attempt) {
    const { call, house, request, target } = attempt
    const { deadlines, timeouts } = house
    this.running = house.running.begin(call, { url: target.line.url, limitMs: timeouts.streamMs })
    const relay = call.protocol.relayStream({ model: target.model.id, usageAsked: request.reading.usageAsked })
    this.tee = new Tee({
      observer: relay.observer,
      edit: relay.edit,
      onEvent: (event) => this.note(event),
      onObserverFailure: (cause) => {
        this.blind = true
        house.onFault(cause)
      },
    })
    const { reasoning } = target.model
    this.gapMs = reasoning ? timeouts.patientMs : timeouts.gapMs
    const firstMs = reasoning ? timeouts.patientMs : timeouts.firstEventMs
    this.silence = deadlines.arm(firstMs, () => this.abort(timedOut("The provider was silent for too long.")))
  }

  /** Calls the target and reads up to its first meaningful event; until then another target could still answer. */
  static async open(attempt: Attempt): Promise<UpstreamStream> {
    const stream = new UpstreamStream(attempt)
    try {
      const response = await callUpstream(attempt, stream.running)
      stream.running.answered = true
      if (!response.ok) throw await upstreamError(response, attempt, stream.running)
      if (!response.body) throw incomplete()
      stream.reader = response.body.getReader()
      await stream.hold()
      return stream
    } catch (thrown) {
      throw stream.fail(thrown)
    }
  }

  /** The next bytes to pass; undefined when the stream has ended as it should. */
  async next(): Promise<Uint8Array | undefined> {
    try {
      while (!this.ended) {
        if (this.error) throw this.error
        // Silence counts while we wait for the upstream, not while the client takes its time.
        if (this.committed) this.silence.extend(this.callOpen ? this.attempt.house.timeouts.patientMs : this.gapMs)
        const result = await this.reader.read()
        if (this.committed) this.silence.clear()
        const bytes = result.done ? this.finish() : this.tee.push(result.value)
        if (bytes) return bytes
      }
    } catch (thrown) {
      throw this.fail(thrown)
    }
    this.release()
    void this.drain()
    return undefined
  }

  abort(reason: unknown): void {
    this.release()
    if (!this.running.abort.signal.aborted) this.running.abort.abort(reason)
  }

  private async hold(): Promise<void> {
    let length = 0
    while (!this.meaningful && !this.blind && length < MAX_HELD_BYTES) {
      const bytes = await this.next()
      if (!bytes) throw incomplete()
      this.held.push(bytes)
      length += bytes.byteLength
    }
    this.committed = true
    this.silence.clear()
  }

  private fail(thrown: unknown): GatewayError {
    const { abort } = this.running
    const broken = thrown instanceof GatewayError || thrown instanceof SseLimitError
    const error = asUpstreamError(broken ? thrown : failure(thrown, abort))
    this.abort(error)
    return error
  }

  private finish(): Uint8Array | undefined {
    const passed = this.tee.finish()
    if (this.ended || this.error) return passed
    this.tee.conclude()
    if (this.ended) return withTerminal(passed, this.attempt.call.protocol.terminal)
    if (this.blind) this.ended = true
    else this.error = incomplete()
    return passed
  }

  /** What the observer saw. */
  private note(event: StreamEvent): Verdict {
    if (!this.meaningful && isMeaningful(event)) {
      this.meaningful = true
      this.attempt.call.record.firstEventAt = performance.now()
    }
    if (event.type === "part-start") this.callOpen ||= event.start.kind === "tool-call"
    else if (event.type === "candidate-end") this.callOpen = false
    else if (event.type === "usage") this.attempt.call.record.usage = event.usage
    else if (event.type === "stream-error") {
      this.error = withoutCredential(event.error, this.attempt.target)
      return "stop-before"
    } else if (event.type === "stream-end") {
      this.ended = true
      return "last-frame"
    }
    return "go-on"
  }

  private release(): void {
    this.silence.clear()
    this.attempt.house.running.end(this.running)
  }

  private async drain(): Promise<void> {
    const limit = this.attempt.house.deadlines.arm(DRAIN_MS, () => this.abort(incomplete()))
    try {
      while (!(await this.reader.read()).done);
    } catch {
      // The answer is complete; how its connection ends does not matter any more.
    } finally {
      limit.clear()
    }
  }
}

function withTerminal(passed: Uint8Array | undefined, terminal: string): Uint8Array {
  const end = fromByteText(encodeByteText(terminal))
  return passed ? Buffer.concat([passed, end]) : end
}

function incomplete(): GatewayError {
  const message = "The provider's stream ended before its answer was complete."
  return new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
