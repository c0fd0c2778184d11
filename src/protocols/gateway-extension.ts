// The gateway's additions to every protocol's request body: the `provider` object, and members that are always refused.

import type { RoutingOptions, RoutingStrategy } from "../canonical/chat/chat-request.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { fieldMismatch, refuseField } from "../canonical/schema/field-mismatch.ts"
import { asciiJson, type JsonEdit } from "../transport/json/json-splice.ts"
import { foldedForms } from "../transport/json/name-watch.ts"
import type { ObjectRules, ValueRefusal } from "./body-rules.ts"
import type { RelayTarget, RequestSummary, UserIdentifier } from "./contract.ts"
import { nonEmptyString, optional, required } from "./field-checks.ts"
import { fallbackListSchemas, type RoutingInput, routingSchema } from "./routing-schema.ts"

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

const NO_ROUTING_OPTIONS: RoutingOptions = { fallback: [] }

const provider = optional("provider", (value) => toRoutingOptions(routingSchema.read(value)))

function toRoutingOptions(input: RoutingInput): RoutingOptions {
  const strategy = chooseStrategy(input)
  return {
    ...(strategy && { strategy }),
    fallback: input.fallback ?? [],
    ...(input.strict && { strict: true }),
    ...toProviderFilters(input),
    // Also set if false, because a key's default may enable it.
    ...(input.hedge !== undefined && { hedge: input.hedge }),
    ...(input.explain && { explain: true }),
    ...(input.report && { report: true }),
  }
}

function chooseStrategy({ routing, sort }: RoutingInput): RoutingStrategy | undefined {
  if (routing && sort && routing !== sort)
    throw fieldMismatch("left out where `provider.routing` is sent").under("sort")
  return routing ?? sort
}

/** The allowed providers. An empty list has no effect. */
function toProviderFilters(input: RoutingInput): Partial<RoutingOptions> {
  const { order = [], only = [], ignore = [], max_price: maxPrice } = input
  const isAlone = input.allow_fallbacks === false
  // Without fallbacks, `order` limits the request to its providers.
  const listed = only.length === 0 && isAlone ? order : only
  return {
    ...(order.length > 0 && { order }),
    ...(listed.length > 0 && { only: listed }),
    ...(isAlone && order.length === 0 && { allowFallbacks: false }),
    ...(ignore.length > 0 && { ignore }),
    ...(maxPrice && { maxPrice }),
    ...(input.require_parameters && { requireParameters: true }),
  }
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

const models = optional("models", fallbackListSchemas.models.read)
const fallbackModels = optional("fallbacks", fallbackListSchemas.fallbacks.read)
const named = required("model", nonEmptyString)
const maybeNamed = optional("model", nonEmptyString)

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
