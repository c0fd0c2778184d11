// The models a key can call now: known, served by an available provider over one of these protocols, and in scope.
import type { ApiKey } from "../access/key-registry.ts"
import { allowsModel } from "../access/scope.ts"
import type { CatalogModel } from "../catalog/catalog.ts"
import { KINDS, type ProtocolId } from "../protocols/contract.ts"
import { type RoutingTable, targetsOf } from "../routing/route-plan.ts"
import { resolveModel, suggestModels } from "./resolve-model.ts"

interface CallableScope {
  readonly caller: ApiKey
  readonly over: readonly ProtocolId[]
}

export function callableModels(table: RoutingTable, view: CallableScope): CatalogModel[] {
  return table.catalog.models.filter((model) => isCallable(model, table, view))
}

export function callableModel(name: string, table: RoutingTable, view: CallableScope): CatalogModel | undefined {
  const model = resolveModel(name, { catalog: table.catalog, scope: view.caller.models })
  return model && isCallable(model, table, view) ? model : undefined
}

/** "Did you mean" with the most similar callable models; empty if none is similar. */
export function suggestCallable(name: string, table: RoutingTable, view: CallableScope): string {
  const isOffered = (model: CatalogModel) => isCallable(model, table, view)
  const suggested = suggestModels(name, { models: table.catalog.models, isCallable: isOffered })
  const quoted = suggested.map((each) => `\`${each}\``)
  const last = quoted.pop()
  if (last === undefined) return ""
  return `Did you mean ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}?`
}

function isCallable(model: CatalogModel, table: RoutingTable, { caller, over }: CallableScope): boolean {
  if (!allowsModel(caller.models, model.id)) return false
  return over.some((protocol) => KINDS[protocol] === model.kind && isServed(model, protocol, table))
}

/** True if a provider serves it at a known price. */
function isServed(model: CatalogModel, protocol: ProtocolId, table: RoutingTable): boolean {
  return targetsOf(model, protocol, table).some(({ pricing }) => pricing !== undefined)
}

/** A model for a first request over this protocol: one the catalogue recommends, else the newest that is not on its way out. */
export function exampleModel(table: RoutingTable, protocol: ProtocolId): CatalogModel | undefined {
  const served = table.catalog.models.filter(
    (model) => model.kind === KINDS[protocol] && isServed(model, protocol, table),
  )
  return served.toSorted((one, other) => recommendation(one) - recommendation(other) || other.created - one.created)[0]
}

/** The lower, the better to begin with. */
function recommendation({ recommended, status }: CatalogModel): number {
  return recommended ?? (status === "active" ? LAST_RECOMMENDED + 1 : LAST_RECOMMENDED + 2)
}

const LAST_RECOMMENDED = 1000
