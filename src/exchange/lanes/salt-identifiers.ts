// How the identifiers of one caller are sent to one target.
import type { Target } from "../../routing/route-plan.ts"
import type { ClientCall, ExchangeDeps } from "../exchange-deps.ts"

interface SaltContext {
  readonly call: Pick<ClientCall, "caller">
  readonly deps: Pick<ExchangeDeps, "identifiers">
  readonly target: Target
}

/** How this caller's identifiers are sent to this target; undefined where the operator lets them pass as they are. */
export function saltFor({ call, deps, target }: SaltContext): ((value: string) => string) | undefined {
  if (!target.account.saltsIdentifiers) return undefined
  return (value) => deps.identifiers.salt(call.caller.tenant, value)
}
