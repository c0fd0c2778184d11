// Builds the upstream request for a target without sending it.
import { setImmediate } from "node:timers/promises"
import type { Loss } from "../../canonical/loss.ts"
import type { Target } from "../../routing/route-plan.ts"
import { ClientGoneError } from "../client-gone-error.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import { chooseLane } from "../lanes/choose-lane.ts"
import { relayLane } from "../lanes/relay-lane.ts"

export interface DryRunResult {
  /** In the protocol that would be spoken there. */
  readonly target: Target
  readonly isRelayed: boolean
  readonly losses: readonly Loss[]
  readonly headers: Headers
  /** A string is ASCII. */
  readonly body: string | Uint8Array
}

/** Rejects with an UntranslatableError if the request cannot be translated for the target. */
export async function dryRun(target: Target, context: ExchangeContext): Promise<DryRunResult> {
  // There may be many targets: others get their turn between them.
  await setImmediate()
  if (context.call.isGone()) throw new ClientGoneError("")
  const dispatch = await chooseLane(target, context)
  const { headers, body, losses = [] } = dispatch.lane.message({ ...context, target: dispatch.target })
  return { target: dispatch.target, isRelayed: dispatch.lane === relayLane, losses, headers, body }
}
