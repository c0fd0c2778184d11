// The gateway's additions to every protocol's request body: the `provider` object, and members that are always refused.

import { type MaxPrice, type RoutingOptions, type RoutingStrategy, STRATEGIES } from "../canonical/chat/chat-request.ts"
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { asciiJson, type JsonEdit } from "../transport/json/json-splice.ts"
import { foldedForms } from "../transport/json/name-watch.ts"
import type { ObjectRules, ValueRefusal } from "./body-rules.ts"
import type { RelayTarget, RequestSummary, UserIdentifier } from "./contract.ts"
import {
  arrayOf,
  boolean,
  type FieldMismatch,
  fieldMismatch,
  nonEmptyString,
  object,
  oneOf,
  optional,
  refuseField,
  required,
} from "./field-checks.ts"

/** For readings that send no header of the caller's along. */
export const NO_HEADERS: Readonly<Record<string, string>> = {}

/** The summary of a request with a unary response. */
export function summarizeUnaryRequest({ identifiers, ...fields }: UnaryRequestFields): RequestSummary {
  const whole = { ...fields, stream: false, framing: "events", usageRequested: true, headers: NO_HEADERS } as const
  return identifiers ? { ...whole, identifiers } : whole
}

interface UnaryRequestFields extends Pick<RequestSummary, "operation" | "model" | "routing" | "outputLimits"> {
  readonly identifiers?: RequestSummary["identifiers"] | undefined
}

/** The members the gateway owns wherever a body names its model. */
export function gatewayEdits(reading: RequestSummary, target: RelayTarget): JsonEdit[] {
  return [
    { path: MODEL, set: asciiJson(target.model) },
    UNROUTED,
    ...removeFallbackList(reading),
    ...saltIdentifiers(reading, target),
  ]
}

function saltIdentifiers({ identifiers }: RequestSummary, { salt }: RelayTarget): readonly JsonEdit[] {
  if (!identifiers || !salt) return NO_EDITS
  return identifiers.map(({ path, value }) => ({ path, set: JSON.stringify(salt(value)) }))
}

/** The members of these names that identify a user; undefined if there are none, as in most requests. */
export function readIdentifiers(
  holder: JsonObject,
  names: readonly string[],
  at?: string,
): UserIdentifier[] | undefined {
  let found: UserIdentifier[] | undefined
  for (const name of names) {
    const value = holder[name]
    if (typeof value !== "string" || value === "") continue
    found ??= []
    found.push({ path: at === undefined ? [name] : [at, name], value })
  }
  return found
}

export const OPENAI_IDENTIFIERS = ["user", "safety_identifier", "prompt_cache_key"]

const NO_EDITS: readonly JsonEdit[] = []

/** Fallback models are the gateway's to try, and not the host's. */
export function removeFallbackList({ routing: { fallbackList } }: RequestSummary): readonly JsonEdit[] {
  return fallbackList ? [{ path: [fallbackList.member], remove: true }] : NO_EDITS
}

const MODEL = ["model"]
/** The routing extension is for the gateway only and is not forwarded. */
const UNROUTED: JsonEdit = { path: ["provider"], remove: true }

/** For protocols with unary responses only. */
export function rejectStreaming(): never {
  throw new Error("this protocol has no streams")
}

const MAX_FALLBACKS = 5
const MAX_PROVIDERS = 50
const KNOWN = [
  ...["routing", "fallback", "strict", "order", "only", "ignore", "max_price", "require_parameters"],
  ...["hedge", "explain", "report", "sort", "allow_fallbacks"],
]

/** OpenRouter's members without a counterpart here, with the nearest alternative. */
const ROUTER_MEMBERS: Readonly<Record<string, string>> = {
  data_collection: "Name the providers you trust in `provider.only`",
  zdr: "Name the providers you trust in `provider.only`",
  enforce_distillable_text: "Name the providers you trust in `provider.only`",
  quantizations: "Choose by `provider.routing: quality`, or name providers in `provider.only`",
  preferred_min_throughput: "Choose by `provider.routing: latency`",
  preferred_max_latency: "Choose by `provider.routing: latency`",
}

function routerMember(name: string): GatewayError {
  const param = `provider.${name}`
  const message = `\`${param}\` is not supported. ${ROUTER_MEMBERS[name]}, and leave it out.`
  return new GatewayError("unsupported_parameter", message, { param })
}
const NO_ROUTING_OPTIONS: RoutingOptions = { fallback: [] }

const names = arrayOf(nonEmptyString)
const strategy = optional("routing", oneOf(STRATEGIES))
const fallbacks = optional("fallback", (value) => {
  const fallback = names(value)
  if (fallback.length > MAX_FALLBACKS) throw fieldMismatch(`at most ${MAX_FALLBACKS} models`)
  return fallback
})
const SORTS: ReadonlyMap<Json, RoutingStrategy> = new Map([
  ["price", "cost"],
  ["latency", "latency"],
])
/** OpenRouter's member for the strategy. */
const sort = optional("sort", (value) => {
  const requested = SORTS.get(value)
  if (!requested) throw fieldMismatch("`price` or `latency`; `provider.routing` also has `quality`")
  return requested
})
const allowFallbacks = optional("allow_fallbacks", boolean)
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

const provider = optional("provider", (value): RoutingOptions => {
  const wishes = object(value)
  for (const name of Object.keys(wishes)) {
    if (name in ROUTER_MEMBERS) throw routerMember(name)
    if (!KNOWN.includes(name)) throw unknownMember(excerpt(name), KNOWN)
  }
  const routing = readStrategy(wishes)
  const fallback = fallbacks(wishes.fallback) ?? []
  return {
    ...(routing && { strategy: routing }),
    fallback,
    ...(strict(wishes.strict) && { strict: true }),
    ...readProviderFilters(wishes),
    ...readHedge(wishes),
    ...(explain(wishes.explain) && { explain: true }),
    ...(report(wishes.report) && { report: true }),
  }
})

function readStrategy({ routing, sort: sorted }: JsonObject): RoutingStrategy | undefined {
  const requested = strategy(routing)
  const bySort = sort(sorted)
  if (requested && bySort && requested !== bySort)
    throw fieldMismatch("left out where `provider.routing` is sent").under("sort")
  return requested ?? bySort
}

/** Also set if false, because a key's default may enable it. */
function readHedge({ hedge: value }: JsonObject): Pick<RoutingOptions, "hedge"> {
  const requested = hedge(value)
  return requested === undefined ? {} : { hedge: requested }
}

/** The allowed providers. An empty list has no effect. */
function readProviderFilters(wishes: JsonObject): Partial<RoutingOptions> {
  const first = order(wishes.order) ?? []
  const allowed = only(wishes.only) ?? []
  const ignored = ignore(wishes.ignore) ?? []
  const most = maxPrice(wishes.max_price)
  const isAlone = allowFallbacks(wishes.allow_fallbacks) === false
  // Without fallbacks, `order` limits the request to its providers.
  const listed = allowed.length === 0 && isAlone ? first : allowed
  return {
    ...(first.length > 0 && { order: first }),
    ...(listed.length > 0 && { only: listed }),
    ...(isAlone && first.length === 0 && { allowFallbacks: false }),
    ...(ignored.length > 0 && { ignore: ignored }),
    ...(most && { maxPrice: most }),
    ...(requireParameters(wishes.require_parameters) && { requireParameters: true }),
  }
}

function providerIds(value: Json): string[] {
  const ids = names(value)
  if (ids.length > MAX_PROVIDERS) throw fieldMismatch(`at most ${MAX_PROVIDERS} provider ids`)
  return ids
}

/** A number, or one as text, as clients of OpenRouter send it. */
function price(value: Json): number {
  const isWritten = typeof value === "string" && /^\d{1,9}(\.\d{1,12})?$/.test(value)
  const amount = isWritten ? Number(value) : value
  if (typeof amount === "number" && amount >= 0) return amount
  throw fieldMismatch('a price in USD per million tokens, such as 2.5 or "2.5"')
}

/** Reads the routing extension in the member `provider`. */
export function readRouting(member: Json | undefined): RoutingOptions {
  return provider(member) ?? NO_ROUTING_OPTIONS
}

/** Like `readRouting`, for a body that is being decoded: members that name models for the gateway are claimed. */
export function takeRouting(take: (name: string) => Json | undefined): RoutingOptions {
  take("models")
  take("fallbacks")
  return readRouting(take("provider"))
}

const listedModels = arrayOf(nonEmptyString)
const models = optional("models", (value) => {
  const listed = listedModels(value)
  if (listed.length > MAX_FALLBACKS) throw fieldMismatch(`at most ${MAX_FALLBACKS} models`)
  return listed
})
/** Anthropic's entries are objects, LiteLLM's are names. */
const fallbackEntries = arrayOf((value) => {
  if (typeof value === "string") return nonEmptyString(value)
  const entry = object(value)
  for (const name in entry) if (name !== "model") throw conflictingModel().under(excerpt(name))
  return entryModel(entry.model)
})
const entryModel = required("model", nonEmptyString)
const fallbackModels = optional("fallbacks", (value) => {
  const listed = fallbackEntries(value)
  if (listed.length > MAX_FALLBACKS) throw fieldMismatch(`at most ${MAX_FALLBACKS} models`)
  return listed
})
const named = required("model", nonEmptyString)
const maybeNamed = optional("model", nonEmptyString)

function conflictingModel(): FieldMismatch {
  return refuseField(
    "unsupported_parameter",
    (path) => `\`${path}\` is not supported: a fallback has only a \`model\`. Leave it out.`,
  )
}

interface ModelChoiceOptions {
  /** The default model. */
  readonly usual?: string
  /** The open part of the request's path, which names the model in the body's place unless it is empty. */
  readonly rest?: string | undefined
}

/** The model of a request, and its routing options. */
export function readModelChoice(
  body: JsonObject,
  { usual, rest }: ModelChoiceOptions = {},
): { readonly model: string; readonly routing: RoutingOptions } {
  if (rest) return { model: rest, routing: readRoutingOptions(body) }
  const wishes = readRouting(body.provider)
  const isListed = isPresent(body.models) || isPresent(body.fallbacks)
  if (!isListed)
    return { model: usual === undefined ? named(body.model) : (maybeNamed(body.model) ?? usual), routing: wishes }
  const { listed, member } = readFallbackList(body, wishes)
  const given = maybeNamed(body.model)
  const skipped = given === undefined && member === "models" ? 1 : 0
  const model = given ?? (skipped ? listed[0] : undefined) ?? usual ?? named(body.model)
  return { model, routing: { ...wishes, fallback: listed.slice(skipped), fallbackList: { member, skipped } } }
}

/** Like `readChoice`, for protocols with the model in the path. */
export function readRoutingOptions(body: JsonObject): RoutingOptions {
  const wishes = readRouting(body.provider)
  if (!isPresent(body.models) && !isPresent(body.fallbacks)) return wishes
  const { listed, member } = readFallbackList(body, wishes)
  return { ...wishes, fallback: listed, fallbackList: { member, skipped: 0 } }
}

/** Members of other gateways and of Anthropic's that mean `provider.fallback`. */
function readFallbackList(body: JsonObject, { fallback }: RoutingOptions) {
  const byModels = models(body.models)
  const byFallbacks = fallbackModels(body.fallbacks)
  const member = byModels ? ("models" as const) : ("fallbacks" as const)
  if (byModels && byFallbacks) throw fieldMismatch("left out where `models` is sent").under("fallbacks")
  if (fallback.length > 0) throw fieldMismatch("left out where `provider.fallback` is sent").under(member)
  return { listed: byModels ?? byFallbacks ?? [], member }
}

function isPresent(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}

function unknownMember(name: string, known: readonly string[]): GatewayError {
  const param = `provider.${name}`
  const message = `\`${param}\` is not a member of the routing extension. It has: ${known.join(", ")}.`
  return new GatewayError("invalid_parameter", message, { param })
}

/** The caller names a model; the operator decides where it is served and with which credential. */
const destination: ValueRefusal = () =>
  refuseField(
    "unsupported_parameter",
    (path) => `\`${path}\` cannot be set in a request: the gateway's configuration sets where a model is served.`,
  )

/** Members that would let the host run another model than the authorised and billed one. */
export const modelChoice: ValueRefusal = () =>
  refuseField(
    "unsupported_parameter",
    (path) =>
      `\`${path}\` may make the provider use another model than the one that is billed. List fallback models in \`provider.fallback\`.`,
  )

/** The only allowed setting in this member is Google's thinking, which selects no model. */
const extraBody: ValueRefusal = (value, holder) => {
  const inner = objectWith(value, "google")
  return inner && objectWith(inner, "thinking_config") ? undefined : modelChoice(value, holder)
}

/** The member's value, if the object has no other member. */
function objectWith(value: Json, name: string): JsonObject | undefined {
  if (!isObject(value) || Object.keys(value).some((key) => key !== name)) return undefined
  const held = value[name] ?? null
  return isObject(held) ? held : undefined
}

/** Names of the output limit at other hosts: a host that knows one would obey it in addition to the protocol's own. */
const LIMITS = [
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "max_gen_len"],
  ...["max_tokens_to_sample", "num_predict", "n_predict"],
]

/** Refuses names of the output limit that are not the protocol's own. */
export function foreignLimits(own: readonly string[]): NonNullable<ObjectRules["refused"]> {
  const ownForms = own.flatMap(foldedForms)
  const foreign = LIMITS.filter((name) => !foldedForms(name).some((form) => ownForms.includes(form)))
  return Object.fromEntries(foreign.map((name) => [name, foreignLimit(own)]))
}

function foreignLimit(own: readonly string[]): ValueRefusal {
  const right = own.map((name) => `\`${name}\``).join(" or ")
  return () =>
    refuseField("unsupported_parameter", (path) => `\`${path}\` is another protocol's limit. Send ${right} instead.`)
}

/** Members that every protocol refuses at the top level; `limits` are the protocol's own names of the output limit. */
export function refusedAtTop(limits: readonly string[]): NonNullable<ObjectRules["refused"]> {
  return {
    ...Object.fromEntries(["api_base", "api_key", "base_url", "custom_host"].map((name) => [name, destination])),
    ...Object.fromEntries(
      ["route", "preset", "plugins", "compound_custom", "provider_options"].map((name) => [name, modelChoice]),
    ),
    extra_body: extraBody,
    ...(limits.length > 0 && foreignLimits(limits)),
  }
}

/** Tenants share accounts at a provider, so callers may not name objects of an account. */
export const accountObject: ValueRefusal = () =>
  refuseField(
    "unsupported_parameter",
    (path) =>
      `\`${path}\` references an object in the provider's account, which callers share. Send its content instead.`,
  )

/** Members in all protocols that name objects of an account. */
export const ACCOUNT_OBJECTS: Readonly<Record<string, ValueRefusal>> = Object.fromEntries(
  [
    ...["file_id", "file_ids", "container_id", "vector_store_ids", "collection_ids", "skill_id"],
    ...["cached_content", "file_search_store_names"],
  ].map((name) => [name, accountObject]),
)

/** A tool that names a model of its own is a second inference, at that model's price. */
export const toolModel: ValueRefusal = (value, holder) =>
  holder.type === "image_generation" ? undefined : modelChoice(value, holder)

/** Members that choose a dearer or cheaper service, with the values that choose the ordinary one. */
export function refuseUnpriced(body: JsonObject, ordinary: Readonly<Record<string, readonly string[]>>): void {
  for (const param in ordinary) {
    const value = body[param]
    if (value === undefined || value === null) continue
    const values = ordinary[param] ?? []
    if (typeof value === "string" && values.includes(value)) continue
    const message = `\`${param}\` selects a service tier without a price. Set it to ${values.join(" or ")}, or leave it out.`
    throw new GatewayError("model_not_priced", message, { param })
  }
}
