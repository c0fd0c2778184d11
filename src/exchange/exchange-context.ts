// The context of one exchange, stage by stage.
import type { RoutingTable, Target } from "../routing/route-plan.ts"
import type { ResendAllowance } from "../transport/resend-allowance.ts"
import type { ChargeSession } from "./charge/charge-session.ts"
import type { ClientCall, ExchangeDeps } from "./exchange-deps.ts"
import type { ReadRequest } from "./read-request.ts"

/** A request that was read. */
export interface ExchangeContext {
  readonly call: ClientCall
  readonly deps: ExchangeDeps
  /** The routing table in force when the exchange began. */
  readonly table: RoutingTable
  readonly request: ReadRequest
}

/** A request whose cost is held, with the targets that may be called. */
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
