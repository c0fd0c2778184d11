// One upstream stream as it is read: the bytes to pass on, until its terminal event or its failure.
import { GatewayError } from "../canonical/error.ts"
import { isMeaningful, type StreamEvent } from "../canonical/stream.ts"
import type { Target } from "../routing/plan.ts"
import { encodeByteText, fromByteText } from "../transport/byte-text.ts"
import type { Deadline } from "../transport/deadlines.ts"
import { failure } from "../transport/http-client.ts"
import { SseLimitError } from "../transport/sse.ts"
import { Tee, type Verdict } from "../transport/tee.ts"
import { asUpstreamError } from "./attempt.ts"
import type { Call, House } from "./call.ts"
import type { ReadRequest } from "./request.ts"
import { type RunningAttempt, timedOut } from "./running.ts"
import { callUpstream, withoutCredential } from "./upstream.ts"

/** Openers are held back until the first meaningful event, but not beyond this. */
const MAX_HELD_BYTES = 256 * 1024
/** After the terminal event the rest is read for so long, so that the connection can be used again. */
const DRAIN_MS = 1000

type ReadResult = { readonly done: true } | { readonly done: false; readonly value: Uint8Array }

interface Reader {
  read(): Promise<ReadResult>
}

export interface StreamAttempt {
  readonly call: Call
  readonly house: House
  readonly request: ReadRequest
  readonly target: Target
}

export class UpstreamStream {
  /** What came before, and with, the first meaningful event. */
  readonly held: Uint8Array[] = []
  private readonly running: RunningAttempt
  private readonly tee: Tee<StreamEvent>
  private readonly silence: Deadline
  private readonly gapMs: number
  private reader: Reader | undefined
  private meaningful = false
  /** Nothing is held back any more. */
  private committed = false
  private ended = false
  private blind = false
  private callOpen = false
  private error: GatewayError | undefined

  private constructor(private readonly attempt: StreamAttempt) {
    const { call, house, request, target } = attempt
    const { deadlines, timeouts } = house
    this.running = house.running.begin(call, timeouts.streamMs)
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
  static async open(attempt: StreamAttempt): Promise<UpstreamStream> {
    const stream = new UpstreamStream(attempt)
    try {
      const response = await callUpstream(attempt, stream.running.abort)
      if (!response.body) throw incomplete()
      stream.reader = response.body.getReader()
      await stream.hold()
      return stream
    } catch (thrown) {
      stream.abort(thrown)
      throw thrown
    }
  }

  /** The next bytes to pass; undefined when the stream has ended as it should. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.error) {
        this.abort(this.error)
        throw this.error
      }
      if (this.ended) return this.close()
      const bytes = await this.read()
      if (bytes) return bytes
    }
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

  private async read(): Promise<Uint8Array | undefined> {
    // Silence counts while we wait for the upstream, not while the client takes its time.
    if (this.committed) this.silence.extend(this.callOpen ? this.attempt.house.timeouts.patientMs : this.gapMs)
    const result = await this.receive()
    if (this.committed) this.silence.clear()
    try {
      return result.done ? this.finish() : this.tee.push(result.value)
    } catch (thrown) {
      this.error = asBroken(thrown)
      return undefined
    }
  }

  private async receive(): Promise<ReadResult> {
    try {
      if (!this.reader) throw incomplete()
      return await this.reader.read()
    } catch (thrown) {
      const error = asUpstreamError(failure(thrown, { abort: this.running.abort, fault: "reset" }))
      this.abort(error)
      throw error
    }
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

  private close(): undefined {
    this.release()
    void this.drain()
    return undefined
  }

  private release(): void {
    this.silence.clear()
    this.attempt.house.running.end(this.running)
  }

  private async drain(): Promise<void> {
    const limit = this.attempt.house.deadlines.arm(DRAIN_MS, () => this.abort(incomplete()))
    try {
      while (this.reader && !(await this.reader.read()).done);
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

function asBroken(thrown: unknown): GatewayError {
  if (!(thrown instanceof SseLimitError)) return asUpstreamError(thrown)
  const message = "The provider sent an event larger than the gateway takes."
  return new GatewayError("upstream_unavailable", message, { owner: "upstream", cause: thrown })
}
