// Shared parts of responses: the gateway's headers, and errors by status in each protocol's shape.
import { ERROR_CODES } from "../../canonical/error-codes.ts"
import type { JsonObject } from "../../canonical/json.ts"
import type { ProtocolId } from "../../protocols/contract.ts"
import { about, anyObject, integerFrom, listOf, objectOf, oneOf, reference, text } from "./schema-builders.ts"

const ALWAYS = {
  "x-request-id": "The request's id, which is also its receipt's id.",
}
const LIMITS = {
  "x-ratelimit-limit-requests": "The key's limit of requests per minute.",
  "x-ratelimit-remaining-requests": "Requests left at the moment.",
  "x-ratelimit-reset-requests": "Time until the limit is fully available again, such as `0.8s`.",
  "x-ratelimit-limit-tokens": "The key's limit of tokens per minute, if it has one.",
  "x-ratelimit-remaining-tokens": "Tokens left at the moment.",
  "x-ratelimit-reset-tokens": "Time until the limit is fully available again.",
}
const ORIGIN = {
  "x-gateway-model": "The model that served the request.",
  "x-gateway-provider": "The provider that served the request.",
  "x-gateway-attempts": "Number of attempts.",
  "x-gateway-mapped-from": "The requested names that the key's model map replaced with other models.",
}
const GENERATED = {
  "x-gateway-cost": "The cost in USD; for a stream, only the receipt shows it.",
  "x-gateway-usage": "`estimated` if the provider reported no usage and the response contains the gateway's count.",
  "x-gateway-losses": "Number and paths of the request's members that could not be translated for the provider.",
  "idempotency-replayed": "`true` if this is the stored response to the same `Idempotency-Key`.",
}
const COUNTED = {
  "x-gateway-count": "Source of the count: `upstream`, or `estimated` by the gateway.",
}
const FAILED = {
  "retry-after": "Seconds to wait, if known.",
  "x-should-retry": "`false` if a retry cannot succeed.",
}
const VENDORS = {
  "request-id": "Same as `x-request-id`.",
}

const ALL = { ...ALWAYS, ...LIMITS, ...ORIGIN, ...GENERATED, ...COUNTED, ...FAILED, ...VENDORS }

export const headerComponents: JsonObject = Object.fromEntries(
  Object.entries(ALL).map(([name, description]) => [name, { description, schema: text }]),
)

interface ResponseTraits {
  readonly who: "anyone" | "key"
  readonly does?: string | undefined
}

/** The gateway's response headers. */
export function headersOf({ who, does, idHeader }: ResponseTraits & { idHeader: string | undefined }): JsonObject {
  const envelope = {
    ...ALWAYS,
    ...(who === "key" && LIMITS),
    ...(does === "generate" && { ...ORIGIN, ...GENERATED }),
    ...(does === "count-tokens" && { ...ORIGIN, ...COUNTED }),
  }
  return references([...Object.keys(envelope), ...(idHeader === undefined ? [] : [idHeader])])
}

function references(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const attempts = about(
  "The failed attempts.",
  listOf(objectOf({ required: { model: text, provider: text, reason: text }, optional: { status: integerFrom(100) } })),
)
const saying = {
  code: about("The error code, from a fixed list.", oneOf(Object.keys(ERROR_CODES))),
  message: about("What is wrong and how to fix it.", text),
  type: oneOf([...new Set(Object.values(ERROR_CODES).map(({ kind }) => kind))]),
}

/** Error shapes of the protocols; all contain the first. */
export const errorSchemas: JsonObject = {
  Error: objectOf({ required: { error: objectOf({ required: saying, optional: { param: text, attempts } }) } }),
  MessagesError: objectOf({
    required: {
      type: oneOf(["error"]),
      error: objectOf({ required: saying, optional: { param: text, attempts } }),
      request_id: text,
    },
  }),
  GenerateError: objectOf({
    required: { error: objectOf({ required: { ...saying, status: text }, optional: { attempts } }) },
  }),
}

export function errorShapeOf(protocol: ProtocolId): string {
  if (protocol === "anthropic-messages") return "MessagesError"
  return protocol.startsWith("gemini") ? "GenerateError" : "Error"
}

const STATUSES = [...new Set(Object.values(ERROR_CODES).map(({ status }) => status))].sort((a, b) => a - b)

export const errorResponses: JsonObject = Object.fromEntries(
  Object.keys(errorSchemas).flatMap((shape) =>
    STATUSES.map((status) => [`${shape}${status}`, errorResponse(shape, status)]),
  ),
)

function errorResponse(shape: string, status: number): JsonObject {
  const codes = Object.entries(ERROR_CODES).filter(([, each]) => each.status === status)
  return {
    description: codes.map(([code, { meaning }]) => `\`${code}\`: ${meaning}`).join("\n\n"),
    headers: references([...Object.keys(ALWAYS), ...Object.keys(FAILED)]),
    content: { "application/json": { schema: reference(shape) } },
  }
}

interface FailureTraits extends ResponseTraits {
  readonly protocol: ProtocolId
  readonly bodyLimit: number
  /** Whether it names something that may not be there. */
  readonly names: boolean
}

/** How a route may fail. What is no route is 404 or 405. */
export function failuresOf({ protocol, who, does, bodyLimit, names }: FailureTraits): JsonObject {
  const statuses = [
    ...(who === "key" ? [400, 401, 403, 429, 503] : []),
    ...(names ? [404] : []),
    ...(does === "generate" ? [409] : []),
    ...(bodyLimit > 0 ? [413] : []),
    500,
  ]
  const shape = errorShapeOf(protocol)
  const described = statuses.sort((a, b) => a - b)
  return Object.fromEntries(described.map((status) => [status, { $ref: `#/components/responses/${shape}${status}` }]))
}

/** The vendor's own response, not described here. */
export const vendorsOwn: JsonObject = anyObject
