// The models a key can call now: known, served by a live provider over this protocol, and within its scope.
import type { Key } from "../accounts/keys.ts"
import { allowsModel } from "../accounts/scope.ts"
import type { Model } from "../catalog/catalog.ts"
import { type RoutingTable, targetsOf } from "../routing/plan.ts"

export function callableModels(table: RoutingTable, { caller, protocol }: { caller: Key; protocol: string }): Model[] {
  return table.catalog.models.filter((model) => isCallable(model, table, { caller, protocol }))
}

export function callableModel(
  name: string,
  table: RoutingTable,
  { caller, protocol }: { caller: Key; protocol: string },
): Model | undefined {
  const model = table.catalog.find(name)
  return model && isCallable(model, table, { caller, protocol }) ? model : undefined
}

function isCallable(
  model: Model,
  table: RoutingTable,
  { caller, protocol }: { caller: Key; protocol: string },
): boolean {
  return allowsModel(caller.models, model.id) && targetsOf(model, protocol, table).length > 0
}
