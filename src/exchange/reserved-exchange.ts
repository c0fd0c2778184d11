// The context of an exchange whose cost is held: it may call providers.
import type { Target } from "../routing/route-plan.ts"
import type { ResendAllowance } from "../transport/resend-allowance.ts"
import type { ChargeSession } from "./charge/charge-session.ts"
import type { ExchangeContext } from "./exchange-context.ts"

export interface ReservedExchange extends ExchangeContext {
  readonly targets: readonly Target[]
  /** Absent if nothing is charged. */
  readonly chargeSession: ChargeSession | undefined
  /** The conversation's key, if affinity matters. */
  readonly session: string | undefined
  /** True if a slow attempt may be hedged. */
  readonly hedges: boolean
  /** Shared by all attempts, so that their number bounds how often a provider sees the request. */
  readonly resends: ResendAllowance
}
