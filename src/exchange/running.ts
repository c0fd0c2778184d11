// The upstream calls under way, each ended when its client leaves, when its time is up, or when the gateway stops.
import { GatewayError } from "../canonical/error.ts"
import { Abort } from "../transport/abort.ts"
import { Roster } from "../transport/roster.ts"
import { ClientGoneError } from "./record.ts"

/** How late a client that left, or a call that takes too long, may be noticed. */
const SWEEP_MS = 50

/** Who waits for the answer. It is asked now and then: a listener for every request costs more than most need. */
interface Client {
  isGone(): boolean
}

/** One upstream call under way. */
export class RunningCall {
  place = -1
  readonly abort = new Abort()
  readonly startedAt = performance.now()
  /** Since when we have been waiting for the upstream's next bytes; 0 while we are not, as when the client is slow. */
  waitingSince = 0
  /** How long such a wait may last. */
  silenceMs = Number.POSITIVE_INFINITY
  /** Whether it is not over because its client has left: only what was used is still to come. */
  outlivesClient = false

  constructor(
    readonly client: Client,
    readonly url: string,
    readonly limitMs: number,
  ) {}
}

export class Running {
  private readonly calls = new Roster<RunningCall>()
  private timer: ReturnType<typeof setInterval> | undefined

  begin(client: Client, { url, limitMs }: { url: string; limitMs: number }): RunningCall {
    const call = new RunningCall(client, url, limitMs)
    this.calls.enter(call)
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS)
    return call
  }

  end(call: RunningCall): void {
    this.calls.leave(call)
  }

  /** Resolves after so long; rejects as a call under way would be ended. */
  async pause(client: Client, ms: number): Promise<void> {
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
    const now = performance.now()
    this.calls.each((call) => this.check(call, now))
    if (this.calls.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  private check(call: RunningCall, now: number): void {
    const elapsedMs = now - call.startedAt
    if (!call.outlivesClient && call.client.isGone()) call.abort.abort(new ClientGoneError())
    else if (call.waitingSince > 0 && now - call.waitingSince >= call.silenceMs) {
      call.abort.abort(timedOut("The provider was silent for too long."))
    } else if (elapsedMs >= call.limitMs) {
      call.abort.abort(timedOut(`The provider's answer was not complete within ${call.limitMs / 1000} s.`))
    }
  }
}

/** The cause of an error that says an upstream took too long. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError"
}

function timedOut(message: string): GatewayError {
  return new GatewayError("upstream_unavailable", message, { owner: "upstream", cause: new TimeoutError() })
}
