// What the gateway adds to every protocol's request body: the `provider` object, and members no request may carry.
import { excerpt, GatewayError } from "../canonical/error.ts"
import type { Json, JsonObject } from "../canonical/json.ts"
import type { RoutingWishes } from "../canonical/request.ts"
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
const KNOWN = ["routing", "fallback", "strict"]
const NO_WISHES: RoutingWishes = { fallback: [] }

const models = arrayOf(nonEmptyString)
const strategy = optional("routing", oneOf(["cost", "latency", "quality"]))
const strict = optional("strict", boolean)
const fallbacks = optional("fallback", (value) => {
  const fallback = models(value)
  if (fallback.length > MAX_FALLBACKS) throw misfit(`at most ${MAX_FALLBACKS} models`)
  return fallback
})
const provider = optional("provider", (value): RoutingWishes => {
  const wishes = object(value)
  for (const name of Object.keys(wishes)) if (!KNOWN.includes(name)) throw unknownWish(name)
  const routing = strategy(wishes.routing)
  return {
    ...(routing && { strategy: routing }),
    fallback: fallbacks(wishes.fallback) ?? [],
    ...(strict(wishes.strict) && { strict: true }),
  }
})

/** The routing extension, as its member `provider` says it. */
export function readRouting(member: Json | undefined): RoutingWishes {
  return provider(member) ?? NO_WISHES
}

function unknownWish(name: string): GatewayError {
  const param = `provider.${excerpt(name)}`
  const message = `\`${param}\` is not a member of the routing extension. It has: ${KNOWN.join(", ")}.`
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
