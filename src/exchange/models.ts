// The models a key can call now: known, served by a live provider over one of these protocols, and within its scope.
import type { Key } from "../accounts/keys.ts"
import { allowsModel } from "../accounts/scope.ts"
import type { Model } from "../catalog/catalog.ts"
import { KINDS, type ProtocolId } from "../protocols/contract.ts"
import { type RoutingTable, targetsOf } from "../routing/plan.ts"
import { resolveModel, suggestModels } from "./resolve-model.ts"

interface View {
  readonly caller: Key
  readonly over: readonly ProtocolId[]
}

export function callableModels(table: RoutingTable, view: View): Model[] {
  return table.catalog.models.filter((model) => isCallable(model, table, view))
}

export function callableModel(name: string, table: RoutingTable, view: View): Model | undefined {
  const model = resolveModel(name, { catalog: table.catalog, scope: view.caller.models })
  return model && isCallable(model, table, view) ? model : undefined
}

/** The callable models whose names are most like this one, as a question; empty where none is. */
export function suggestCallable(name: string, table: RoutingTable, view: View): string {
  const isOffered = (model: Model) => isCallable(model, table, view)
  const suggested = suggestModels(name, { models: table.catalog.models, isCallable: isOffered })
  const quoted = suggested.map((each) => `\`${each}\``)
  const last = quoted.pop()
  if (last === undefined) return ""
  return `Did you mean ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}?`
}

function isCallable(model: Model, table: RoutingTable, { caller, over }: View): boolean {
  if (!allowsModel(caller.models, model.id)) return false
  return over.some((protocol) => KINDS[protocol] === model.kind && isServed(model, protocol, table))
}

/** Whether somebody serves it at a known price: what has none is not called. */
function isServed(model: Model, protocol: ProtocolId, table: RoutingTable): boolean {
  return targetsOf(model, protocol, table).some(({ pricing }) => pricing !== undefined)
}

/** A model for a first request over this protocol: one the catalogue recommends, else the newest that is not on its way out. */
export function exampleModel(table: RoutingTable, protocol: ProtocolId): Model | undefined {
  const served = table.catalog.models.filter(
    (model) => model.kind === KINDS[protocol] && isServed(model, protocol, table),
  )
  return served.toSorted((one, other) => recommendation(one) - recommendation(other) || other.created - one.created)[0]
}

/** The lower, the better to begin with. */
function recommendation({ recommended, status }: Model): number {
  return recommended ?? (status === "active" ? LAST_RECOMMENDED + 1 : LAST_RECOMMENDED + 2)
}

const LAST_RECOMMENDED = 1000
