// How the identifiers of one caller are sent to one target.
import type { Target } from "../routing/plan.ts"
import type { Call, House } from "./call.ts"

interface Saltable {
  readonly call: Pick<Call, "caller">
  readonly house: Pick<House, "identifiers">
  readonly target: Target
}

/** How this caller's identifiers are sent to this target; undefined where the operator lets them pass as they are. */
export function saltFor({ call, house, target }: Saltable): ((value: string) => string) | undefined {
  if (!target.account.saltsIdentifiers) return undefined
  return (value) => house.identifiers.salt(call.caller.tenant, value)
}
