// A protocol's endpoints as routes: one generates, the others tell what models there are.
import { GatewayError } from "../canonical/error.ts"
import type { House } from "../exchange/call.ts"
import { exchange } from "../exchange/exchange.ts"
import { callableModel, callableModels } from "../exchange/models.ts"
import type { Endpoint, Protocol } from "../protocols/contract.ts"
import { jsonAnswer } from "./answer.ts"
import type { Route } from "./visit.ts"

const GENERATING_BODY_LIMIT = 32 * 1024 * 1024

export function protocolRoutes(protocol: Protocol, house: House): Route[] {
  return protocol.endpoints.map((endpoint) => {
    const { method, path } = endpoint
    const generates = endpoint.does === "generate"
    const bodyLimit = generates ? GENERATING_BODY_LIMIT : 0
    return {
      name: `${method} ${path}`,
      method,
      path,
      who: "key",
      bodyLimit,
      protocol,
      generates,
      handle: handler(endpoint, protocol, house),
    }
  })
}

function handler({ does }: Endpoint, protocol: Protocol, house: House): Route["handle"] {
  if (does === "generate") return (visit) => exchange(visit, house)
  return (visit) => {
    const { requestId } = visit.record
    const view = { caller: visit.caller, protocol: protocol.id }
    if (does === "get-model") {
      const model = callableModel(visit.rest, house.table(), view)
      if (!model) throw new GatewayError("resource_not_found", `There is no model \`${visit.rest}\` for this key.`)
      return jsonAnswer(protocol.encodeModel(model), { requestId })
    }
    const models = callableModels(house.table(), view)
    const body = does === "count-models" ? { count: models.length } : protocol.encodeModels(models)
    return jsonAnswer(body, { requestId })
  }
}
