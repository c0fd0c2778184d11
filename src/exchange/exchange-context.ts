// The context of one exchange once its request was read.
import type { RoutingTable } from "../routing/route-plan.ts"
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
