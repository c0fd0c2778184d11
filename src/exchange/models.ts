// The models a key can call now: known, served by a live provider over one of these protocols, and within its scope.
import type { Key } from "../accounts/keys.ts"
import { allowsModel } from "../accounts/scope.ts"
import type { Model } from "../catalog/catalog.ts"
import { KINDS, type ProtocolId } from "../protocols/contract.ts"
import { type RoutingTable, targetsOf } from "../routing/plan.ts"

interface View {
  readonly caller: Key
  readonly over: readonly ProtocolId[]
}

export function callableModels(table: RoutingTable, view: View): Model[] {
  return table.catalog.models.filter((model) => isCallable(model, table, view))
}

export function callableModel(name: string, table: RoutingTable, view: View): Model | undefined {
  const model = table.catalog.find(name)
  return model && isCallable(model, table, view) ? model : undefined
}

function isCallable(model: Model, table: RoutingTable, { caller, over }: View): boolean {
  if (!allowsModel(caller.models, model.id)) return false
  return over.some((protocol) => KINDS[protocol] === model.kind && targetsOf(model, protocol, table).length > 0)
}
