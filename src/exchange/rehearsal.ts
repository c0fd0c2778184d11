// A request as a target would be sent it, without sending it.
import { setImmediate } from "node:timers/promises"
import type { Loss } from "../canonical/loss.ts"
import type { Target } from "../routing/plan.ts"
import { wayTo } from "./lane-choice.ts"
import { ClientGoneError } from "./record.ts"
import { relayLane } from "./relay-lane.ts"
import type { Occasion } from "./translate-lane.ts"

export interface Rehearsed {
  /** In the protocol that would be spoken there. */
  readonly target: Target
  readonly isRelayed: boolean
  readonly losses: readonly Loss[]
  readonly headers: Headers
  /** A string is ASCII. */
  readonly body: string | Uint8Array
}

/** Rejects with an UnsayableError where the target cannot be told the request. */
export async function rehearse(target: Target, occasion: Occasion): Promise<Rehearsed> {
  // There may be many targets: others get their turn between them.
  await setImmediate()
  if (occasion.call.isGone()) throw new ClientGoneError("")
  const way = await wayTo(target, occasion)
  const isRelayed = way.lane === relayLane
  const { record } = occasion.call
  const { headers, body } = way.lane.message({ ...occasion, ...way, bill: undefined })
  const { losses = [] } = record
  // A lane notes them for the answer's header, and there is none.
  record.losses = undefined
  return { target: way.target, isRelayed, losses, headers, body }
}
