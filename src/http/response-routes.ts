// Routes for stored responses: GET and DELETE, the list of input items, and cancel, which always fails because no
// response runs in the background.
import { allowsProtocol } from "../access/scope.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { StoredResponses } from "../exchange/conversations/stored-responses.ts"
import type { Protocol } from "../protocols/contract.ts"
import { jsonResponse } from "./json-response.ts"
import type { GatewayRoute, RequestContext } from "./request-context.ts"

interface ResponseRoutesOptions {
  /** Whose words they are. */
  readonly protocol: Protocol
  readonly responses: Pick<StoredResponses, "find" | "inputOf" | "remove">
}

const END = "/{id}"
const INPUT_ITEMS = "/input_items"
const CANCEL = "/cancel"

/** A stored response can be read at every spelling of its route. */
export function responseRoutes(options: ResponseRoutesOptions): GatewayRoute[] {
  const paths = options.protocol.endpoints.find(({ does }) => does === "generate")?.paths ?? []
  return paths.flatMap((path) => routesAt(path + END, `${paths[0]}${END}`, options))
}

function routesAt(path: string, spellingOf: string, { protocol, responses }: ResponseRoutesOptions): GatewayRoute[] {
  const route = (method: GatewayRoute["method"], handle: GatewayRoute["handle"]): GatewayRoute => ({
    ...{ name: `${method} ${path}`, method, path, spellingOf, who: "key", bodyLimit: 0, protocol, generates: false },
    handle: (context) => {
      checkScope(context)
      return handle(context)
    },
  })
  return [
    route("GET", ({ caller, envelope: { rest, query }, progress }) => {
      const parameters = new URLSearchParams(query)
      if (rest.endsWith(INPUT_ITEMS)) {
        return jsonResponse(responses.inputOf(rest.slice(0, -INPUT_ITEMS.length), caller.tenant, parameters), progress)
      }
      const found = responses.find(rest, caller.tenant)
      if (parameters.get("stream") === "true") throw notStreamableError()
      return jsonResponse(found, progress)
    }),
    route("DELETE", ({ caller, envelope: { rest }, progress }) => {
      responses.remove(rest, caller.tenant)
      return jsonResponse({ id: rest, object: "response", deleted: true }, progress)
    }),
    route("POST", ({ caller, envelope: { rest } }) => {
      if (!rest.endsWith(CANCEL)) throw new GatewayError("route_not_found", `There is no route /v1/responses/${rest}.`)
      responses.find(rest.slice(0, -CANCEL.length), caller.tenant)
      throw notCancellableError()
    }),
  ]
}

function checkScope({ caller, protocol, route }: RequestContext): void {
  if (allowsProtocol(caller.protocols, protocol.id)) return
  throw new GatewayError("route_not_allowed", `This API key may not use ${route.path}.`)
}

function notStreamableError(): GatewayError {
  const message = "A stored response cannot be streamed. Leave `stream` out to read it."
  return new GatewayError("unsupported_parameter", message, { param: "stream" })
}

function notCancellableError(): GatewayError {
  const message = "Cannot cancel a synchronous response: it is complete. To remove it from the store, DELETE it."
  return new GatewayError("invalid_parameter", message)
}
