// The gateway's own members of request bodies, declared once: `provider`, and lists of models that mean its `fallback`.
// The validator, the type and the OpenAPI description come from these schemas.

import { type RoutingStrategy, STRATEGIES } from "../canonical/chat/chat-request.ts"
import { excerpt } from "../canonical/gateway-error.ts"
import type { Json } from "../canonical/json.ts"
import { type FieldMismatch, fieldMismatch, refuseField } from "../canonical/schema/field-mismatch.ts"
import { object, optional, required as requiredMember } from "../canonical/schema/object-schema.ts"
import {
  about,
  anyObject,
  boolean,
  list,
  nonEmptyString,
  oneOf,
  type SchemaValue,
  type ValueSchema,
} from "../canonical/schema/value-schema.ts"
import { required } from "./field-checks.ts"

const FALLBACKS = { max: 5, items: "models" } as const
const models = list(nonEmptyString, FALLBACKS)
const providers = list(nonEmptyString, { max: 50, items: "provider ids" })

const SORTS: ReadonlyMap<Json, RoutingStrategy> = new Map([
  ["price", "cost"],
  ["latency", "latency"],
])
const sort: ValueSchema<RoutingStrategy> = {
  jsonSchema: { type: "string", enum: [...SORTS.keys()] },
  read(value) {
    const requested = SORTS.get(value)
    if (!requested) throw fieldMismatch("`price` or `latency`; `provider.routing` also has `quality`")
    return requested
  },
}

const PRICE_TEXT = /^\d{1,9}(\.\d{1,12})?$/
/** A number, or one as text, as clients of OpenRouter send it. */
const price: ValueSchema<number> = {
  jsonSchema: {
    anyOf: [
      { type: "number", minimum: 0 },
      { type: "string", pattern: PRICE_TEXT.source },
    ],
  },
  read(value) {
    const amount = typeof value === "string" && PRICE_TEXT.test(value) ? Number(value) : value
    if (typeof amount === "number" && amount >= 0) return amount
    throw fieldMismatch('a price in USD per million tokens, such as 2.5 or "2.5"')
  },
}
const maxPrice = object({ prompt: optional(price), completion: optional(price) }, { unknown: unknownMember })

const members = {
  routing: optional(about("The criterion that orders the model's providers.", oneOf(STRATEGIES))),
  fallback: optional(
    about("Fallback models, tried in this order when no provider can serve the previous model.", models),
  ),
  strict: optional(about("Reject the request if it cannot be translated for the provider without loss.", boolean)),
  order: optional(about("Providers to try first, in this order.", providers)),
  only: optional(about("The only providers that may serve the request.", providers)),
  ignore: optional(about("Providers that may not serve the request.", providers)),
  max_price: optional(about("The maximum price per million tokens, in USD.", maxPrice)),
  require_parameters: optional(about("Exclude providers that do not support every parameter of the request.", boolean)),
  hedge: optional(about("Start a second attempt in parallel if the first is slow.", boolean)),
  explain: optional(
    about(
      "Return where the request would be routed and what it would cost, without calling a provider or charging anything.",
      boolean,
    ),
  ),
  report: optional(about("List every loss on the receipt.", boolean)),
  sort: optional(about("OpenRouter's name for `routing`.", sort)),
  allow_fallbacks: optional(
    about("If false, the gateway tries only the first provider, or those in `order`.", boolean),
  ),
}

/** The member `provider`. */
export const routingSchema = about(
  "Routing options for this request. The gateway reads them and sends them to no provider; unknown members are rejected.",
  object(members, { unknown: refuseRoutingMember }),
)

export type RoutingInput = SchemaValue<typeof routingSchema>

const namedEntry = object({ model: requiredMember(nonEmptyString) })
const entryModel = required("model", nonEmptyString.read)
/** Anthropic's entries are objects, LiteLLM's are names. */
const fallbackEntry: ValueSchema<string> = {
  jsonSchema: { anyOf: [nonEmptyString.jsonSchema, namedEntry.jsonSchema] },
  read(value) {
    if (typeof value === "string") return nonEmptyString.read(value)
    const entry = anyObject.read(value)
    for (const name in entry) if (name !== "model") throw conflictingModel().under(excerpt(name))
    return entryModel(entry.model)
  },
}

/** Members of other gateways and of Anthropic's that mean `provider.fallback`. */
export const fallbackListSchemas = {
  models: about(
    "Same as `provider.fallback`, and cannot be combined with it; without `model`, the first entry is the model.",
    models,
  ),
  fallbacks: about(
    "Same as `provider.fallback`, and cannot be combined with it; each entry is a model name or an object with `model`.",
    list(fallbackEntry, FALLBACKS),
  ),
}

/** OpenRouter's members without a counterpart here, with the nearest alternative. */
const ROUTER_MEMBERS: Readonly<Record<string, string>> = {
  data_collection: "Name the providers you trust in `provider.only`",
  zdr: "Name the providers you trust in `provider.only`",
  enforce_distillable_text: "Name the providers you trust in `provider.only`",
  quantizations: "Choose by `provider.routing: quality`, or name providers in `provider.only`",
  preferred_min_throughput: "Choose by `provider.routing: latency`",
  preferred_max_latency: "Choose by `provider.routing: latency`",
}

function refuseRoutingMember(name: string, known: readonly string[]): FieldMismatch {
  if (!Object.hasOwn(ROUTER_MEMBERS, name)) return unknownMember(name, known)
  const advice = `${ROUTER_MEMBERS[name]}, and leave it out.`
  return refuseField("unsupported_parameter", (path) => `\`${path}\` is not supported. ${advice}`)
}

function unknownMember(_name: string, known: readonly string[]): FieldMismatch {
  const names = known.join(", ")
  return refuseField(
    "invalid_parameter",
    (path) => `\`${path}\` is not a member of the routing extension. It has: ${names}.`,
  )
}

function conflictingModel(): FieldMismatch {
  return refuseField(
    "unsupported_parameter",
    (path) => `\`${path}\` is not supported: a fallback has only a \`model\`. Leave it out.`,
  )
}
