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
  /** By the id a target names: one for each credential there. */
  readonly accounts: ReadonlyMap<string, readonly Account[]>
}

/** The model's live targets for clients of this protocol, best first. */
export function targetsOf(model: Model, protocol: string, table: RoutingTable): Target[] {
  return inTurn(model, { protocol, table, turn: 0 })
}

interface Occasion {
  readonly protocol: string
  readonly table: RoutingTable
  /** Counts requests, so that each account of a provider comes first as often as the others. */
  readonly turn: number
}

/** The order of trial: the targets of the first model, then those of the next. */
export function plan(models: readonly Model[], occasion: Occasion): Target[] {
  const targets: Target[] = []
  for (const model of models) targets.push(...firstOf(inTurn(model, occasion)))
  return targets
}

/** All accounts of a provider before the next provider, begun with another one each turn. */
function inTurn(model: Model, { protocol, table, turn }: Occasion): Target[] {
  const found: Target[] = []
  for (const { provider, model: upstreamModel } of model.targets) {
    const accounts = table.accounts.get(provider)
    if (!accounts) continue
    for (let index = 0; index < accounts.length; index++) {
      const account = accounts[(turn + index) % accounts.length]
      const line = account?.lines[protocol]
      if (account && line && line.serves?.(upstreamModel) !== false) found.push({ model, account, upstreamModel, line })
    }
  }
  return found
}

/** As many as are tried. The last of them is another provider's where there is one: all accounts of one fail together. */
function firstOf(targets: readonly Target[]): readonly Target[] {
  if (targets.length <= MAX_TARGETS_PER_MODEL) return targets
  const first = targets.slice(0, MAX_TARGETS_PER_MODEL)
  const id = first[0]?.account.id
  if (first.some(({ account }) => account.id !== id)) return first
  const other = targets.find(({ account }) => account.id !== id)
  return other ? [...first.slice(0, -1), other] : first
}
