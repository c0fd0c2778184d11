// Schema of `provider`, the gateway's own member of request bodies.

import { STRATEGIES } from "../../canonical/chat/chat-request.ts"
import type { JsonObject } from "../../canonical/json.ts"
import { about, filledText, flag, listOf, objectOf, oneOf } from "./schema-builders.ts"

const models = listOf(filledText, { maxItems: 5 })
const providers = listOf(filledText, { maxItems: 50 })
const price: JsonObject = {
  anyOf: [
    { type: "number", minimum: 0 },
    { type: "string", pattern: "^\\d{1,9}(\\.\\d{1,12})?$" },
  ],
}

const wishes = objectOf({
  optional: {
    routing: about("The criterion that orders the model's providers.", oneOf(STRATEGIES)),
    sort: about("OpenRouter's name for `routing`.", oneOf(["price", "latency"])),
    allow_fallbacks: about("If false, the gateway tries only the first provider, or those in `order`.", flag),
    fallback: about("Fallback models, tried in this order when no provider can serve the previous model.", models),
    order: about("Providers to try first, in this order.", providers),
    only: about("The only providers that may serve the request.", providers),
    ignore: about("Providers that may not serve the request.", providers),
    max_price: about("The maximum price per million tokens, in USD.", {
      ...objectOf({ optional: { prompt: price, completion: price } }),
      additionalProperties: false,
    }),
    require_parameters: about("Exclude providers that do not support every parameter of the request.", flag),
    strict: about("Reject the request if it cannot be translated for the provider without loss.", flag),
    hedge: about("Start a second attempt in parallel if the first is slow.", flag),
    explain: about(
      "Return where the request would be routed and what it would cost, without calling a provider or charging anything.",
      flag,
    ),
    report: about("List every loss on the receipt.", flag),
  },
})

/** Members of other gateways that mean `provider.fallback`. */
export const fallbackLists: Readonly<Record<string, JsonObject>> = {
  models: about(
    "Same as `provider.fallback`, and cannot be combined with it; without `model`, the first entry is the model.",
    models,
  ),
  fallbacks: about(
    "Same as `provider.fallback`, and cannot be combined with it; each entry is a model name or an object with `model`.",
    {
      ...listOf({
        anyOf: [filledText, { ...objectOf({ required: { model: filledText } }), additionalProperties: false }],
      }),
      maxItems: 5,
    },
  ),
}

/** A body that names its model, or a list of models. */
export function withModelName(body: JsonObject): JsonObject {
  const { required, ...rest } = body
  const others = Array.isArray(required) ? required.filter((name) => name !== "model") : []
  const listed = objectOf({ required: { models: { type: "array", minItems: 1 } } })
  return { ...rest, required: others, anyOf: [{ required: ["model"] }, listed] }
}

export const routing: JsonObject = about(
  "Routing options for this request. The gateway reads them and sends them to no provider; unknown members are rejected.",
  { ...wishes, additionalProperties: false },
)
