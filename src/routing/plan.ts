// Where one request goes: the targets to try, in order. A pure function of the catalogue and the accounts at hand.
import type { Catalog, Model } from "../catalog/catalog.ts"
import type { Account, Line } from "../providers/contract.ts"

/** Where one attempt goes. */
export interface Target {
  readonly model: Model
  readonly account: Account
  /** The model's name there. */
  readonly upstreamModel: string
  readonly line: Line
}

const MAX_TARGETS_PER_MODEL = 3

export interface RoutingTable {
  readonly catalog: Catalog
  /** Accounts by the id a target names. */
  readonly accounts: ReadonlyMap<string, Account>
}

/** The model's live targets for clients of this protocol, best first. */
export function targetsOf(model: Model, protocol: string, { accounts }: RoutingTable): Target[] {
  const found: Target[] = []
  for (const { provider, model: upstreamModel } of model.targets) {
    const account = accounts.get(provider)
    const line = account?.lines[protocol]
    if (account && line) found.push({ model, account, upstreamModel, line })
  }
  return found
}

/** The order of trial: the targets of the first model, then those of the next. */
export function plan(models: readonly Model[], protocol: string, table: RoutingTable): Target[] {
  const targets: Target[] = []
  for (const model of models) targets.push(...targetsOf(model, protocol, table).slice(0, MAX_TARGETS_PER_MODEL))
  return targets
}
