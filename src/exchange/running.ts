// The upstream calls under way, each ended when its client leaves, when its time is up, or when the gateway stops.
import { GatewayError } from "../canonical/error.ts"
import { Roster } from "../transport/roster.ts"
import { ClientGoneError } from "./record.ts"

/** How late a client that left, or a call that takes too long, may be noticed. */
const SWEEP_MS = 50

/** Somebody who may leave. It is asked now and then: a listener for every request costs more than most requests need. */
interface Client {
  isGone(): boolean
}

export class Running {
  private readonly attempts = new Roster<RunningAttempt>()
  private timer: ReturnType<typeof setInterval> | undefined

  begin(client: Client, limitMs: number): RunningAttempt {
    const attempt = { place: -1, abort: new AbortController(), client, limitMs, dueAt: performance.now() + limitMs }
    this.attempts.enter(attempt)
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS)
    return attempt
  }

  end(attempt: RunningAttempt): void {
    this.attempts.leave(attempt)
  }

  endAll(reason: Error): void {
    this.attempts.each(({ abort }) => abort.abort(reason))
  }

  private sweep(): void {
    const now = performance.now()
    this.attempts.each(({ abort, client, limitMs, dueAt }) => {
      if (client.isGone()) abort.abort(new ClientGoneError())
      else if (dueAt <= now) abort.abort(timedOut(`The provider's answer was not complete within ${limitMs / 1000} s.`))
    })
    if (this.attempts.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }
}

export interface RunningAttempt {
  place: number
  /** Ends the upstream call; its reason is what the call then fails with. */
  readonly abort: AbortController
  readonly client: Client
  readonly limitMs: number
  readonly dueAt: number
}

export function timedOut(message: string): GatewayError {
  return new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
