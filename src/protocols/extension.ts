// What the gateway adds to every protocol's request body: the `provider` object, and members no request may carry.
import { excerpt, GatewayError } from "../canonical/error.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { RoutingWishes } from "../canonical/request.ts"
import { arrayOf, fault, nonEmptyString, object, oneOf, optional } from "./check.ts"

const MAX_FALLBACKS = 5
const KNOWN = ["routing", "fallback"]
const NO_WISHES: RoutingWishes = { fallback: [] }

export function readRouting(body: JsonObject): RoutingWishes {
  const provider = optional(body, "provider", { check: object })
  if (!provider) return NO_WISHES
  for (const name of Object.keys(provider)) {
    if (KNOWN.includes(name)) continue
    const param = `provider.${excerpt(name)}`
    const message = `\`${param}\` is not a member of the routing extension. It has: ${KNOWN.join(", ")}.`
    throw new GatewayError("invalid_parameter", message, { param })
  }
  const at = "provider."
  const strategy = optional(provider, "routing", { check: oneOf(["cost", "latency", "quality"]), at })
  const fallback = optional(provider, "fallback", { check: arrayOf(nonEmptyString), at }) ?? []
  if (fallback.length > MAX_FALLBACKS) throw fault("provider.fallback", `at most ${MAX_FALLBACKS} models`)
  return { ...(strategy && { strategy }), fallback }
}

const DESTINATIONS = ["api_base", "api_key", "base_url", "custom_host"]

/** The caller names a model; where it is served and with which credential is the operator's to say. */
export function refuseDestinations(body: JsonObject): void {
  for (const param of DESTINATIONS) {
    if (!Object.hasOwn(body, param)) continue
    const message = `\`${param}\` cannot be set in a request: where a model is served is configured in the gateway.`
    throw new GatewayError("unsupported_parameter", message, { param })
  }
}
