// Where one request goes: the targets to try, in order. A pure function of the catalogue and the accounts at hand.
import { FREE, type Pricing } from "../canonical/model.ts"
import type { Catalog, Model, TargetRow } from "../catalog/catalog.ts"
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

const MAX_TARGETS_PER_MODEL = 3

export interface RoutingTable {
  readonly catalog: Catalog
  /** By the id a target names: one for each credential there. */
  readonly accounts: ReadonlyMap<string, readonly Account[]>
  /** The protocols in which can be said again what was said in any of them. */
  readonly translated: ReadonlySet<string>
}

/** The model's live targets for clients of this protocol, best first. */
export function targetsOf(model: Model, protocol: string, table: RoutingTable): Target[] {
  return inTurn(model, { protocol, table, turn: 0, translates: true })
}

interface Occasion {
  readonly protocol: string
  readonly table: RoutingTable
  /** Counts requests, so that each account of a provider comes first as often as the others. */
  readonly turn: number
  /** Whether what is asked for can be asked for in another protocol. */
  readonly translates: boolean
}

/** The order of trial: the targets of the first model, then those of the next. */
export function plan(models: readonly Model[], occasion: Occasion): Target[] {
  const targets: Target[] = []
  for (const model of models) targets.push(...firstOf(inTurn(model, occasion)))
  return targets
}

/**
 * All accounts of a provider before the next provider, begun with another one each turn. Of providers that are equal,
 * those that speak the client's protocol come first.
 */
function inTurn(model: Model, occasion: Occasion): Target[] {
  const { table, turn } = occasion
  const found: Target[] = []
  let others: Target[] | undefined
  let last: TargetRow | undefined
  for (const row of model.targets) {
    if (others && last && !areEqual(row, last)) {
      found.push(...others)
      others = undefined
    }
    last = row
    const accounts = table.accounts.get(row.provider)
    if (!accounts) continue
    for (let index = 0; index < accounts.length; index++) {
      const account = accounts[(turn + index) % accounts.length]
      const target = account && targetAt(account, { model, row }, occasion)
      if (!target) continue
      if (target.protocol === occasion.protocol) found.push(target)
      else others = [...(others ?? []), target]
    }
  }
  return others ? [...found, ...others] : found
}

function areEqual(one: TargetRow, other: TargetRow): boolean {
  return one.priority === other.priority && one.weight === other.weight
}

/** The account's line of the client's protocol, or of the one it speaks best that the request can be said in. */
function targetAt(
  account: Account,
  { model, row }: { model: Model; row: TargetRow },
  { protocol, table, translates }: Occasion,
): Target | undefined {
  const upstreamModel = row.model
  const pricing = row.pricing ?? model.pricing ?? (account.isFree ? FREE : undefined)
  const own = account.lines[protocol]
  if (own && own.serves?.(upstreamModel) !== false) return { model, account, upstreamModel, protocol, line: own, pricing }
  if (!translates || !table.translated.has(protocol)) return undefined
  for (const [spoken, line] of Object.entries(account.lines)) {
    const serves = table.translated.has(spoken) && line.serves?.(upstreamModel) !== false
    if (serves) return { model, account, upstreamModel, protocol: spoken, line, pricing }
  }
  return undefined
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
