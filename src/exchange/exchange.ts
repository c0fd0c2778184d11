// The story of one call. The door has authenticated the caller; here it is admitted, routed, attempted and settled.
import { allowsModel } from "../accounts/scope.ts"
import { excerpt, GatewayError } from "../canonical/error.ts"
import type { Catalog, Model } from "../catalog/catalog.ts"
import { plan, type Target } from "../routing/plan.ts"
import { attempt } from "./attempt.ts"
import type { Call, House } from "./call.ts"
import { relayStreamed } from "./relay-stream.ts"
import { relayUnary } from "./relay-unary.ts"
import { type ReadRequest, readRequest } from "./request.ts"

export async function exchange(call: Call, house: House): Promise<Response> {
  const table = house.table()
  const request = await readRequest(await call.readBody(), { protocol: call.protocol, readLarge: house.readLarge })
  const models = admit(call, request, table.catalog)
  const targets = plan(models, call.protocol.id, table)
  if (targets.length === 0) throw notServed(models)
  if (request.reading.stream) return relayStreamed({ call, house, request, targets })
  const answer = await attempt(targets, call, (target: Target) => relayUnary({ call, house, request, target }))
  call.finish()
  return answer
}

/** The models the caller names, the requested one first, each known and within the key's scope. */
function admit(call: Call, { reading }: ReadRequest, catalog: Catalog): Model[] {
  const models = [reading.model, ...reading.routing.fallback].map((name, index) => {
    const model = catalog.find(name)
    const param = index === 0 ? "model" : `provider.fallback[${index - 1}]`
    if (!model) throw unknownModel(name, param)
    if (!allowsModel(call.caller.models, model.id)) {
      throw new GatewayError("model_not_allowed", `This API key may not call \`${model.id}\`.`, { param })
    }
    return model
  })
  call.record.model = models[0]?.id ?? ""
  call.record.stream = reading.stream
  return [...new Set(models)]
}

function unknownModel(name: string, param: string): GatewayError {
  const message = `There is no model \`${excerpt(name)}\`. GET /v1/models lists those this key can call.`
  return new GatewayError("model_not_found", message, { param })
}

function notServed([model]: readonly Model[]): GatewayError {
  const message = `No configured provider serves \`${model?.id}\`. GET /v1/models lists what can be called.`
  return new GatewayError("model_not_found", message, { param: "model" })
}
