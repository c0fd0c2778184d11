// Where one request goes: the targets to try, in order. A pure function of the catalogue and the accounts at hand.
import type { Catalog, Model } from "../catalog/catalog.ts"
import type { Account, Dialect } from "../providers/contract.ts"

/** Where one attempt goes. */
export interface Target {
  readonly model: Model
  readonly account: Account
  /** The model's name there. */
  readonly upstreamModel: string
  readonly dialect: Dialect
}

const MAX_TARGETS_PER_MODEL = 3

export interface RoutingTable {
  readonly catalog: Catalog
  /** Accounts by the id a target names. */
  readonly accounts: ReadonlyMap<string, Account>
}

/** The model's live targets for clients of this protocol, best first. */
export function targetsOf(model: Model, protocol: string, { accounts }: RoutingTable): Target[] {
  const found: (Target & { priority: number; weight: number })[] = []
  for (const { provider, model: upstreamModel, priority, weight } of model.targets) {
    const account = accounts.get(provider)
    const dialect = account?.provider.speaks[protocol]
    if (account && dialect) found.push({ model, account, upstreamModel, dialect, priority, weight })
  }
  return found.sort((a, b) => a.priority - b.priority || b.weight - a.weight)
}

/** The order of trial: the targets of the first model, then those of the next. */
export function plan(models: readonly Model[], protocol: string, table: RoutingTable): Target[] {
  return models.flatMap((model) => targetsOf(model, protocol, table).slice(0, MAX_TARGETS_PER_MODEL))
}
