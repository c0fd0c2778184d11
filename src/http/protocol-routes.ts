// A protocol's endpoints as routes, one for each spelling: those that call a model, and those that tell what there is.
import { allowsProtocol } from "../accounts/scope.ts"
import { excerpt, GatewayError } from "../canonical/error.ts"
import type { House } from "../exchange/call.ts"
import { exchange } from "../exchange/exchange.ts"
import { callableModel, callableModels, suggestCallable } from "../exchange/models.ts"
import type { Endpoint, Listing, Protocol } from "../protocols/contract.ts"
import { jsonAnswer } from "./answer.ts"
import type { Route, Visit } from "./visit.ts"

const GENERATING_BODY_LIMIT = 32 * 1024 * 1024

export function protocolRoutes(protocol: Protocol, house: House): Route[] {
  return protocol.endpoints.flatMap((endpoint) => {
    const { method, does } = endpoint
    const calls = does === "generate" || does === "count-tokens"
    const handle = calls ? (visit: Visit) => exchange(visit, house) : listingHandler(does, protocol.listing, house)
    const bodyLimit = calls ? GENERATING_BODY_LIMIT : 0
    const route = { method, who: "key", bodyLimit, protocol, does, generates: calls, handle } as const
    return spellingsOf(endpoint).map(({ path, whenHeader }) => ({
      ...route,
      name: `${method} ${path}`,
      path,
      whenHeader,
      isVendorPath: protocol.isVendorPath?.(path) ?? false,
      modelsPath: modelsPathBeside(path, protocol),
      ...(path.startsWith(AZURE) && { keyPlaces: AZURE_KEYS }),
    }))
  })
}

function spellingsOf({ paths, shared }: Endpoint): Pick<Route, "path" | "whenHeader">[] {
  const { paths: sharedPaths = [], header: whenHeader } = shared ?? {}
  return [...paths.map((path) => ({ path })), ...sharedPaths.map((path) => ({ path, whenHeader }))]
}

const AZURE = "/openai/"
/** Where Azure's client puts a key, unless it is a bearer. */
const AZURE_KEYS = { keyHeaders: ["api-key"] }
const USUAL_MODELS_PATH = "/v1/models"

/** Where a caller of this path finds the models it can name: the listing with the same base. */
function modelsPathBeside(path: string, { endpoints }: Protocol): string {
  const listing = endpoints.find(({ does }) => does === "list-models")
  const listings = listing ? spellingsOf(listing).map((spelling) => spelling.path) : []
  return listings.find((each) => path.startsWith(each.slice(0, -"models".length))) ?? listings[0] ?? USUAL_MODELS_PATH
}

function listingHandler(does: Endpoint["does"], listing: Listing | undefined, house: House): Route["handle"] {
  if (!listing) throw new Error("a protocol that lists models has to say how")
  return ({ caller, envelope, record }) => {
    const view = { caller, over: listing.over.filter((id) => allowsProtocol(caller.protocols, id)) }
    const table = house.table()
    if (does === "get-model") {
      const name = listing.nameIn?.(envelope.rest) ?? envelope.rest
      const model = callableModel(name, table, view)
      if (!model) throw unknownModel(name, suggestCallable(name, table, view))
      return jsonAnswer(listing.encodeModel(model), record)
    }
    const models = callableModels(table, view)
    const query = new URLSearchParams(envelope.query)
    return jsonAnswer(does === "count-models" ? { count: models.length } : listing.encodeModels(models, query), record)
  }
}

function unknownModel(name: string, suggestion: string): GatewayError {
  const message = `There is no model \`${excerpt(name)}\` for this key. ${suggestion}`.trimEnd()
  return new GatewayError("resource_not_found", message)
}
