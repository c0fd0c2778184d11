// The gateway's own member of every request body, described.

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
    routing: about("What the places that serve the model are ordered by.", oneOf(STRATEGIES)),
    sort: about("OpenRouter's words for `routing`.", oneOf(["price", "latency"])),
    allow_fallbacks: about("False: only the first provider is tried, or those in `order`.", flag),
    fallback: about("Models to turn to, in this order, when nobody serves the one before.", models),
    order: about("Providers to try first, in this order.", providers),
    only: about("The only providers that may answer.", providers),
    ignore: about("Providers that may not answer.", providers),
    max_price: about("The most a million tokens may cost, in USD.", {
      ...objectOf({ optional: { prompt: price, completion: price } }),
      additionalProperties: false,
    }),
    require_parameters: about("Leaves out providers that would not be told every parameter.", flag),
    strict: about("Refuses what cannot be said to the provider without loss.", flag),
    hedge: about("Makes a second attempt beside one that takes long.", flag),
    explain: about(
      "Answers where the request would go and what it would cost; no call is made, nothing charged.",
      flag,
    ),
    report: about("Every loss is told on the receipt.", flag),
  },
})

/** Members of other gateways that mean `provider.fallback`. */
export const fallbackLists: Readonly<Record<string, JsonObject>> = {
  models: about(
    "The same as `provider.fallback`, which it may not stand beside; without `model`, the first is the model.",
    models,
  ),
  fallbacks: about(
    "The same as `provider.fallback`, which it may not stand beside, with a model's name or an object that holds it.",
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
  "Where the request may go. It is the gateway's own and reaches no provider; members it does not know are refused.",
  { ...wishes, additionalProperties: false },
)
