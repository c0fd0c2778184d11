// The running upstream calls. Each ends when its client leaves, its time is up, or the gateway stops.
import { GatewayError } from "../../canonical/gateway-error.ts"
import { Abort } from "../../transport/abort.ts"
import { CompactSet } from "../../transport/event-loop/compact-set.ts"
import { systemClock, type TimerClock } from "../../transport/event-loop/timer-clock.ts"
import { ClientGoneError } from "../client-gone-error.ts"

/** Interval at which departed clients and timed-out calls are detected. */
const SWEEP_MS = 50

/** The waiting client. It is polled: a listener for every request costs more than most need. */
export interface WaitingClient {
  isGone(): boolean
}

/** One upstream call under way. */
export class UpstreamCall {
  place = -1
  readonly abort = new Abort()
  /** Since when we have been waiting for the upstream's next bytes; 0 while we are not, as when the client is slow. */
  waitingSince = 0
  /** How long such a wait may last. */
  silenceMs = Number.POSITIVE_INFINITY
  /** Whether it is not over because its client has left: only what was used is still to come. */
  outlivesClient = false

  constructor(
    readonly client: WaitingClient,
    readonly url: string,
    readonly limitMs: number,
    readonly startedAt: number,
  ) {}
}

export class UpstreamCalls {
  private readonly calls = new CompactSet<UpstreamCall>()
  private endTimer: (() => void) | undefined

  constructor(private readonly clock: TimerClock = systemClock) {}

  begin(client: WaitingClient, { url, limitMs }: { url: string; limitMs: number }): UpstreamCall {
    const call = new UpstreamCall(client, url, limitMs, this.clock.now())
    this.calls.enter(call)
    this.endTimer ??= this.clock.repeat(SWEEP_MS, () => this.sweep())
    return call
  }

  end(call: UpstreamCall): void {
    this.calls.leave(call)
  }

  /** Resolves after the delay; rejects when a running call would be ended. */
  async pause(client: WaitingClient, ms: number): Promise<void> {
    const waiting = this.begin(client, { url: "", limitMs: Number.POSITIVE_INFINITY })
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms)
        waiting.abort.onAbort = () => {
          clearTimeout(timer)
          reject(waiting.abort.reason)
        }
      })
    } finally {
      this.end(waiting)
    }
  }

  endAll(reason: Error): void {
    this.calls.each(({ abort }) => abort.abort(reason))
  }

  private sweep(): void {
    const now = this.clock.now()
    this.calls.each((call) => this.check(call, now))
    if (this.calls.size > 0) return
    this.endTimer?.()
    this.endTimer = undefined
  }

  private check(call: UpstreamCall, now: number): void {
    const elapsedMs = now - call.startedAt
    if (!call.outlivesClient && call.client.isGone()) call.abort.abort(new ClientGoneError())
    else if (call.waitingSince > 0 && now - call.waitingSince >= call.silenceMs) {
      call.abort.abort(timeoutError("The provider sent nothing for too long."))
    } else if (elapsedMs >= call.limitMs) {
      call.abort.abort(timeoutError(`The provider did not complete its response within ${call.limitMs / 1000} s.`))
    }
  }
}

/** The cause of an error that says an upstream took too long. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError"
}

function timeoutError(message: string): GatewayError {
  return new GatewayError("upstream_unavailable", message, { owner: "upstream", cause: new TimeoutError() })
}
