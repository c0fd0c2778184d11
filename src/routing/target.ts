// Where one attempt goes, and the table of all that is there.
import type { Pricing } from "../canonical/model.ts"
import type { Strategy } from "../canonical/request.ts"
import type { Catalog, Model } from "../catalog/catalog.ts"
import type { Account, Line } from "../providers/contract.ts"

/** Where one attempt goes. */
export interface Target {
  readonly model: Model
  readonly account: Account
  /** The model's name there. */
  readonly upstreamModel: string
  /** What is spoken there. */
  readonly protocol: string
  readonly line: Line
  /** Absent where nobody knows what it costs. */
  readonly pricing: Pricing | undefined
}

export interface RoutingTable {
  readonly catalog: Catalog
  /** By the id a target names: one for each credential there. */
  readonly accounts: ReadonlyMap<string, readonly Account[]>
  /** The protocols in which can be said again what was said in any of them. */
  readonly translated: ReadonlySet<string>
  /** What targets are ordered by where neither the caller nor a group says. */
  readonly strategy?: Strategy | undefined
}
