// Routes of a protocol's endpoints, one per spelling: model calls and model listings.
import { allowsProtocol } from "../access/scope.ts"
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { callableModel, callableModels, suggestCallable } from "../exchange/callable-models.ts"
import { runExchange } from "../exchange/exchange.ts"
import type { ExchangeDeps } from "../exchange/exchange-deps.ts"
import type { ModelListing, Protocol, ProtocolPath } from "../protocols/contract.ts"
import { jsonResponse } from "./json-response.ts"
import type { GatewayRoute, RequestContext } from "./request-context.ts"

const GENERATING_BODY_LIMIT = 32 * 1024 * 1024

export function protocolRoutes(protocol: Protocol, deps: ExchangeDeps): GatewayRoute[] {
  return protocol.endpoints.flatMap((endpoint) => {
    const { method, does } = endpoint
    const calls = does === "generate" || does === "count-tokens"
    const handle = calls
      ? (context: RequestContext) => runExchange(context, deps)
      : listingHandler(does, protocol.listing, deps)
    const bodyLimit = calls ? GENERATING_BODY_LIMIT : 0
    const route = { method, who: "key", bodyLimit, protocol, does, generates: calls, handle } as const
    return spellingsOf(endpoint).map(({ path, whenHeader }) => ({
      ...route,
      name: `${method} ${path}`,
      path,
      whenHeader,
      isVendorPath: protocol.isVendorPath?.(path) ?? false,
      modelsPath: modelsPathNear(path, protocol),
      ...(path.startsWith(AZURE) && { keyPlaces: AZURE_KEYS }),
    }))
  })
}

function spellingsOf({ paths, shared }: ProtocolPath): Pick<GatewayRoute, "path" | "whenHeader">[] {
  const { paths: sharedPaths = [], header: whenHeader } = shared ?? {}
  return [...paths.map((path) => ({ path })), ...sharedPaths.map((path) => ({ path, whenHeader }))]
}

const AZURE = "/openai/"
/** Where Azure's client puts a key, unless it is a bearer. */
const AZURE_KEYS = { keyHeaders: ["api-key"] }
const USUAL_MODELS_PATH = "/v1/models"

/** Where a caller of this path finds the models it can name: the listing with the same base. */
function modelsPathNear(path: string, { endpoints }: Protocol): string {
  const listing = endpoints.find(({ does }) => does === "list-models")
  const listings = listing ? spellingsOf(listing).map((spelling) => spelling.path) : []
  return listings.find((each) => path.startsWith(each.slice(0, -"models".length))) ?? listings[0] ?? USUAL_MODELS_PATH
}

function listingHandler(
  does: ProtocolPath["does"],
  listing: ModelListing | undefined,
  deps: ExchangeDeps,
): GatewayRoute["handle"] {
  if (!listing) throw new Error("a protocol that lists models needs a listing")
  return ({ caller, envelope, progress }) => {
    const view = { caller, over: listing.over.filter((id) => allowsProtocol(caller.protocols, id)) }
    const table = deps.table()
    if (does === "get-model") {
      const name = listing.nameIn?.(envelope.rest) ?? envelope.rest
      const model = callableModel(name, table, view)
      if (!model) throw unknownModel(name, suggestCallable(name, table, view))
      return jsonResponse(listing.encodeModel(model), progress)
    }
    const models = callableModels(table, view)
    const query = new URLSearchParams(envelope.query)
    return jsonResponse(
      does === "count-models" ? { count: models.length } : listing.encodeModels(models, query),
      progress,
    )
  }
}

function unknownModel(name: string, suggestion: string): GatewayError {
  const message = `There is no model \`${excerpt(name)}\` for this key. ${suggestion}`.trimEnd()
  return new GatewayError("resource_not_found", message)
}
