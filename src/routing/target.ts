// Where one attempt goes, and the table of all that is there.
import type { Pricing } from "../canonical/model.ts"
import type { Strategy } from "../canonical/request.ts"
import type { Catalog, Model } from "../catalog/catalog.ts"
import type { Account, Line } from "../providers/contract.ts"
import type { Standing } from "./breaker.ts"

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
  /** How it stood when the plan was made. */
  readonly health?: Standing
}

export interface RoutingTable {
  readonly catalog: Catalog
  /** By the id a target names: one for each credential there. */
  readonly accounts: ReadonlyMap<string, readonly Account[]>
  /** Protocols, of which each says again what was said in any other of the same set. */
  readonly translated: readonly ReadonlySet<string>[]
  /** What targets are ordered by where neither the caller nor a group says. */
  readonly strategy?: Strategy | undefined
  /** The model that draws where a request for images names none. */
  readonly imageModel?: string | undefined
}
