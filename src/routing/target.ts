// Where one attempt goes, and the table of all that is there.

import type { RoutingStrategy } from "../canonical/chat/chat-request.ts"
import type { Pricing } from "../canonical/model.ts"
import type { Catalog, CatalogModel } from "../catalog/catalog.ts"
import type { ProtocolEndpoint, ProviderAccount } from "../providers/contract.ts"
import type { BreakerState } from "./breaker.ts"

/** Where one attempt goes. */
export interface Target {
  readonly model: CatalogModel
  readonly account: ProviderAccount
  /** The model's name there. */
  readonly upstreamModel: string
  /** What is spoken there. */
  readonly protocol: string
  readonly endpoint: ProtocolEndpoint
  /** Absent where the price is unknown. */
  readonly pricing: Pricing | undefined
  /** How it stood when the plan was made. */
  readonly health?: BreakerState
}

export interface RoutingTable {
  readonly catalog: Catalog
  /** By the id a target names: one for each credential there. */
  readonly accounts: ReadonlyMap<string, readonly ProviderAccount[]>
  /** Sets of protocols that translate to each other. */
  readonly translated: readonly ReadonlySet<string>[]
  /** What targets are ordered by where neither the caller nor a group says. */
  readonly strategy?: RoutingStrategy | undefined
  /** The model that draws where a request for images names none. */
  readonly imageModel?: string | undefined
}
