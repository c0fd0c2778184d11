// What the gateway adds to every protocol's request body: the `provider` object, and members no request may carry.
import { excerpt, GatewayError } from "../canonical/error.ts"
import type { Json, JsonObject } from "../canonical/json.ts"
import { type MaxPrice, type RoutingWishes, STRATEGIES } from "../canonical/request.ts"
import { asciiJson, type Edit } from "../transport/json-splice.ts"
import { arrayOf, boolean, misfit, nonEmptyString, object, oneOf, optional, refusal } from "./check.ts"
import type { Reading, RelayTarget } from "./contract.ts"

/** For readings that send no header of the caller's along. */
export const NO_HEADERS: Readonly<Record<string, string>> = {}

/** The reading of a request whose answer comes whole. */
export function wholeAnswer(asked: Pick<Reading, "operation" | "model" | "routing" | "asks">): Reading {
  return { ...asked, stream: false, framing: "events", usageAsked: true, headers: NO_HEADERS }
}

/** The members the gateway owns wherever a body names its model. */
export function ownedEdits(_reading: Reading, target: RelayTarget): Edit[] {
  return [{ path: MODEL, set: asciiJson(target.model) }, UNROUTED]
}

const MODEL = ["model"]
/** The routing extension is the gateway's own, and goes no further. */
const UNROUTED: Edit = { path: ["provider"], remove: true }

/** For protocols whose answers always come whole. */
export function neverStreams(): never {
  throw new Error("this protocol has no streams")
}

const MAX_FALLBACKS = 5
const MAX_PROVIDERS = 50
const KNOWN = [
  ...["routing", "fallback", "strict", "order", "only", "ignore", "max_price", "require_parameters"],
  ...["hedge", "explain", "report"],
]
const NO_WISHES: RoutingWishes = { fallback: [] }

const names = arrayOf(nonEmptyString)
const strategy = optional("routing", oneOf(STRATEGIES))
const fallbacks = optional("fallback", (value) => {
  const fallback = names(value)
  if (fallback.length > MAX_FALLBACKS) throw misfit(`at most ${MAX_FALLBACKS} models`)
  return fallback
})
const order = optional("order", providerIds)
const only = optional("only", providerIds)
const ignore = optional("ignore", providerIds)
const strict = optional("strict", boolean)
const requireParameters = optional("require_parameters", boolean)
const hedge = optional("hedge", boolean)
const explain = optional("explain", boolean)
const report = optional("report", boolean)

const PRICED = ["prompt", "completion"]
const prompt = optional("prompt", price)
const completion = optional("completion", price)
const maxPrice = optional("max_price", (value): MaxPrice => {
  const prices = object(value)
  for (const name of Object.keys(prices)) {
    if (!PRICED.includes(name)) throw unknownMember(`max_price.${excerpt(name)}`, PRICED)
  }
  const most = { prompt: prompt(prices.prompt), completion: completion(prices.completion) }
  return {
    ...(most.prompt !== undefined && { prompt: most.prompt }),
    ...(most.completion !== undefined && { completion: most.completion }),
  }
})

const provider = optional("provider", (value): RoutingWishes => {
  const wishes = object(value)
  for (const name of Object.keys(wishes)) if (!KNOWN.includes(name)) throw unknownMember(excerpt(name), KNOWN)
  const routing = strategy(wishes.routing)
  const fallback = fallbacks(wishes.fallback) ?? []
  return {
    ...(routing && { strategy: routing }),
    fallback,
    ...(strict(wishes.strict) && { strict: true }),
    ...placesWished(wishes),
    ...hedgeWished(wishes),
    ...(explain(wishes.explain) && { explain: true }),
    ...(report(wishes.report) && { report: true }),
  }
})

/** Told also where it is not wished: a key may wish it. */
function hedgeWished({ hedge: asked }: JsonObject): Pick<RoutingWishes, "hedge"> {
  const wished = hedge(asked)
  return wished === undefined ? {} : { hedge: wished }
}

/** Where it may go. A list of nobody asks for nothing. */
function placesWished(wishes: JsonObject): Partial<RoutingWishes> {
  const first = order(wishes.order) ?? []
  const allowed = only(wishes.only) ?? []
  const ignored = ignore(wishes.ignore) ?? []
  const most = maxPrice(wishes.max_price)
  return {
    ...(first.length > 0 && { order: first }),
    ...(allowed.length > 0 && { only: allowed }),
    ...(ignored.length > 0 && { ignore: ignored }),
    ...(most && { maxPrice: most }),
    ...(requireParameters(wishes.require_parameters) && { requireParameters: true }),
  }
}

function providerIds(value: Json): string[] {
  const ids = names(value)
  if (ids.length > MAX_PROVIDERS) throw misfit(`at most ${MAX_PROVIDERS} provider ids`)
  return ids
}

/** A number, or one as text, as clients of OpenRouter send it. */
function price(value: Json): number {
  const isWritten = typeof value === "string" && /^\d{1,9}(\.\d{1,12})?$/.test(value)
  const amount = isWritten ? Number(value) : value
  if (typeof amount === "number" && amount >= 0) return amount
  throw misfit('a price in USD per million tokens, such as 2.5 or "2.5"')
}

/** The routing extension, as its member `provider` says it. */
export function readRouting(member: Json | undefined): RoutingWishes {
  return provider(member) ?? NO_WISHES
}

function unknownMember(name: string, known: readonly string[]): GatewayError {
  const param = `provider.${name}`
  const message = `\`${param}\` is not a member of the routing extension. It has: ${known.join(", ")}.`
  return new GatewayError("invalid_parameter", message, { param })
}

/** The caller names a model; where it is served and with which credential is the operator's to say. */
export function refuseDestinations({ api_base, api_key, base_url, custom_host }: JsonObject): void {
  if (api_base === undefined && api_key === undefined && base_url === undefined && custom_host === undefined) return
  const given = { api_base, api_key, base_url, custom_host }
  const param = Object.entries(given).find(([, value]) => value !== undefined)?.[0] ?? ""
  const message = `\`${param}\` cannot be set in a request: where a model is served is configured in the gateway.`
  throw new GatewayError("unsupported_parameter", message, { param })
}

/** Accounts at a provider are shared by tenants, so what names an object there is nobody's to send. */
export function refuseStored(body: JsonObject, names: readonly string[]): void {
  for (const name of names) if (body[name] !== undefined && body[name] !== null) throw storedObject(name)
}

export function storedObject(name: string): Error {
  return refusal("unsupported_parameter", storedSentence).under(name)
}

function storedSentence(path: string): string {
  return `\`${path}\` names an object of the provider's account, which callers share. Send its content instead.`
}

/** Members that choose a dearer or cheaper service, with the values that choose the ordinary one. */
export function refuseUnpriced(body: JsonObject, ordinary: Readonly<Record<string, readonly string[]>>): void {
  for (const param in ordinary) {
    const value = body[param]
    if (value === undefined || value === null) continue
    const values = ordinary[param] ?? []
    if (typeof value === "string" && values.includes(value)) continue
    const message = `\`${param}\` chooses a service without a price. It may be ${values.join(" or ")}, or left out.`
    throw new GatewayError("model_not_priced", message, { param })
  }
}
