// Builds the upstream request for a target without sending it.
import { setImmediate } from "node:timers/promises"
import type { Loss } from "../../canonical/loss.ts"
import type { Target } from "../../routing/route-plan.ts"
import { ClientGoneError } from "../exchange-record.ts"
import { chooseLane } from "../lanes/choose-lane.ts"
import { relayLane } from "../lanes/relay-lane.ts"
import type { TranslationContext } from "../lanes/translate-lane.ts"

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
export async function dryRun(target: Target, context: TranslationContext): Promise<DryRunResult> {
  // There may be many targets: others get their turn between them.
  await setImmediate()
  if (context.call.isGone()) throw new ClientGoneError("")
  const way = await chooseLane(target, context)
  const isRelayed = way.lane === relayLane
  const { record } = context.call
  const { headers, body } = way.lane.message({ ...context, ...way, chargeSession: undefined })
  const { losses = [] } = record
  // A lane notes them for the answer's header, and there is none.
  record.losses = undefined
  return { target: way.target, isRelayed, losses, headers, body }
}
