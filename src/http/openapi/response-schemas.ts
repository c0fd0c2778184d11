// Shared parts of responses: the gateway's headers, and errors by status in each protocol's shape.
import { ERROR_CODES } from "../../canonical/error-codes.ts"
import type { JsonObject } from "../../canonical/json.ts"
import {
  gatewayHeaderNames,
  RESPONSE_HEADERS,
  type ResponseHeaderName,
  responseHeadersOn,
} from "../../canonical/response-headers.ts"
import type { ProtocolId } from "../../protocols/contract.ts"
import { about, anyObject, integerFrom, listOf, objectOf, oneOf, reference, text } from "./schema-builders.ts"

export const headerComponents: JsonObject = Object.fromEntries(
  gatewayHeaderNames().map((name) => [name, { description: RESPONSE_HEADERS[name].meaning, schema: text }]),
)

interface ResponseTraits {
  readonly who: "anyone" | "key"
  readonly does?: string | undefined
}

/** The gateway's response headers. */
export function headersOf({
  who,
  does,
  idHeader,
}: ResponseTraits & { idHeader: ResponseHeaderName | undefined }): JsonObject {
  const named = responseHeadersOn([
    "always",
    ...(who === "key" ? (["key"] as const) : []),
    ...(does === "generate" || does === "count-tokens" ? (["answer", does] as const) : []),
  ])
  return references([...named, ...(idHeader === undefined ? [] : [idHeader])])
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
    headers: references(responseHeadersOn(["always", "error"])),
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
