// The attempts of one exchange: each attempt collects its own facts, and the log keeps their order and which one serves.
import type { GatewayError } from "../../canonical/gateway-error.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { RetryPause } from "../../protocols/retry-pause.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ObservedAttempt, ObservedTarget } from "../../telemetry/observed-exchange.ts"

/** The facts of one attempt, written by the attempt alone. Times are those of `performance.now()`. */
export class AttemptFacts {
  readonly startedAt = performance.now()
  /** Time to open a connection; 0 on a reused one, undefined if none was opened here. */
  connectMs: number | undefined
  /** When the response head arrived. */
  respondedAt: number | undefined
  firstEventAt: number | undefined
  endedAt: number | undefined
  /** Translation losses; undefined if nothing was translated. */
  losses: readonly Loss[] | undefined
  /** Usage as the upstream reported it. */
  usage: Usage | undefined
  /** The upstream's rate limit details after a rejection. */
  pause: RetryPause | undefined

  constructor(readonly target: Target) {}
}

export class AttemptLog {
  count = 0
  /** Attempts after which another target was tried, or none was left, in the order of their end. */
  failed: ObservedAttempt[] | undefined
  /** The attempt whose target serves the exchange: the last one begun, or the winner of a race. */
  serving: AttemptFacts | undefined
  firstStartedAt: number | undefined

  begin(target: Target): AttemptFacts {
    const facts = new AttemptFacts(target)
    this.count++
    this.serving = facts
    this.firstStartedAt ??= facts.startedAt
    return facts
  }

  noteFailed(facts: AttemptFacts, error: GatewayError): void {
    facts.endedAt = performance.now()
    this.failed ??= []
    this.failed.push({ ...toObservedTarget(facts.target), ...timesOf(facts), error })
  }

  /** Another attempt answered first. */
  noteLostRace(facts: AttemptFacts): void {
    facts.endedAt = performance.now()
    this.failed ??= []
    this.failed.push({ ...toObservedTarget(facts.target), ...timesOf(facts), error: undefined, outrun: true })
  }

  /** True if the serving attempt has not failed. */
  get isOpen(): boolean {
    return this.serving !== undefined && this.count > (this.failed?.length ?? 0)
  }
}

export function toObservedTarget({ account, model, upstreamModel, endpoint }: Target): ObservedTarget {
  return { provider: account.id, model: model.id, upstreamModel, baseUrl: endpoint.baseUrl }
}

function timesOf({ startedAt, endedAt = startedAt }: AttemptFacts) {
  return { startedAt, endedAt }
}
