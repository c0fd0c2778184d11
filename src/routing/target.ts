// The destination of one attempt, and the table of all destinations.

import type { RoutingStrategy } from "../canonical/chat/chat-request.ts"
import type { Pricing } from "../canonical/model.ts"
import type { Catalog, CatalogModel } from "../catalog/catalog.ts"
import type { ProtocolEndpoint, ProviderAccount } from "../providers/contract.ts"
import type { BreakerState } from "./breaker.ts"

/** The destination of one attempt. */
export interface Target {
  readonly model: CatalogModel
  readonly account: ProviderAccount
  /** The model's name at the provider. */
  readonly upstreamModel: string
  /** The protocol of the endpoint. */
  readonly protocol: string
  readonly endpoint: ProtocolEndpoint
  /** Absent if the price is unknown. */
  readonly pricing: Pricing | undefined
  /** The breaker's state when the plan was made. */
  readonly health?: BreakerState
}

export interface RoutingTable {
  readonly catalog: Catalog
  /** Accounts by provider id, one for each credential. */
  readonly accounts: ReadonlyMap<string, readonly ProviderAccount[]>
  /** Sets of protocols that translate into each other. */
  readonly translated: readonly ReadonlySet<string>[]
  /** The default strategy, if neither the request nor a group sets one. */
  readonly strategy?: RoutingStrategy | undefined
  /** The model for image requests that name none. */
  readonly imageModel?: string | undefined
}
