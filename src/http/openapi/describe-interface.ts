// The gateway's public interface described as OpenAPI, from the table of routes itself.
import type { Json, JsonObject } from "../../canonical/json.ts"
import type { Protocol, ProtocolId } from "../../protocols/contract.ts"
import type { GatewayRoute } from "../request-context.ts"
import { GATEWAY_TEXTS, GREETING, type OperationText, PROTOCOL_TEXTS } from "./operation-texts.ts"
import { BODIES } from "./request-bodies.ts"
import {
  errorResponses,
  errorSchemas,
  failuresOf,
  headerComponents,
  headersOf,
  vendorsOwn,
} from "./response-schemas.ts"
import { routing } from "./routing-schema.ts"
import { filledText, reference, text } from "./schema-builders.ts"

const INTRODUCTION = `One address and one key for many models, in three wire protocols: any of them in, any provider out.

The gateway validates the members described here. Every other member belongs to the vendor's protocol: the gateway
passes it on, or translates it for a provider that uses another protocol. A member that is null counts as absent. Every
response has \`x-request-id\`; \`GET /v1/receipts/{id}\` shows what the request cost.`

const REPEATED = ["idempotency-key"]
/** The headers of requests, without those that hold a key. */
const HEADERS: Readonly<Record<string, string>> = {
  "idempotency-key": "Requests with the same key and body are billed once within 24 hours.",
  "msg-version": "A date from 2023-01-01 onwards, such as 2023-06-01. This or `anthropic-version` is required.",
  "anthropic-version": "The vendor's name for `msg-version`.",
  "anthropic-beta": "Vendor beta features to enable, if the provider supports them.",
}

export function describeInterface(routes: readonly GatewayRoute[], version: string): JsonObject {
  const paths: Record<string, Record<string, Json>> = {}
  for (const spellings of Map.groupBy(routes, keyOf).values()) {
    for (const { path, method, operation } of operationsOf(spellings)) {
      paths[path] = { ...paths[path], [method]: operation }
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Trivium",
      version,
      description: INTRODUCTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: { Routing: routing, ...bodySchemas(), ...errorSchemas },
      responses: errorResponses,
      headers: headerComponents,
      securitySchemes: securitySchemes(routes),
    },
  }
}

/** Routes of one key are one operation in several spellings. */
function keyOf(route: GatewayRoute): string {
  const { method, protocol, does } = route
  return does === undefined ? `${method} ${ownPath(route)}` : `${method} ${protocol.id} ${does}`
}

/** Coding agents greet before the path of their protocol, too. */
function ownPath({ path, spellingOf = path }: GatewayRoute): string {
  return path.endsWith(GREETING) ? GREETING : spellingOf
}

interface DescribedOperation {
  readonly path: string
  readonly method: string
  readonly operation: JsonObject
}

function operationsOf(spellings: readonly GatewayRoute[]): DescribedOperation[] {
  const [route] = spellings
  if (!route) return []
  return textsOf(route).map((words) => {
    const { at = routeName(route), end = "" } = words
    const path = at + end
    const others = spellings.map((each) => routeName(each) + end).filter((each) => each !== path)
    return { path, method: route.method.toLowerCase(), operation: operationOf(route, { words, path, others }) }
  })
}

function textsOf(route: GatewayRoute): readonly OperationText[] {
  const { method, protocol, does, name } = route
  const words = does === undefined ? GATEWAY_TEXTS[`${method} ${ownPath(route)}`] : PROTOCOL_TEXTS[protocol.id][does]
  return words ?? [{ tag: "Others", summary: name }]
}

/** A path's open end is a model if the protocol's own path has one. */
function routeName({ path }: GatewayRoute): string {
  return path.replace("{rest}", "{model}")
}

interface OperationInput {
  readonly words: OperationText
  readonly path: string
  readonly others: readonly string[]
}

function operationOf(route: GatewayRoute, { words, path, others }: OperationInput): JsonObject {
  const { who, bodyLimit, protocol } = route
  const does = words.end === ":countTokens" ? "count-tokens" : route.does
  const wire = words.speaks ?? protocol.id
  const body = bodyLimit > 0 ? bodyOf(wire, does === "count-tokens") : undefined
  const names = path.includes("{") && bodyLimit === 0
  const headers = route.does === undefined ? [] : [...protocol.readsHeaders, ...(does === "generate" ? REPEATED : [])]
  const answer = {
    description: "The answer.",
    headers: headersOf({ who, does, idHeader: protocol.idHeader }),
    ...contentOf(route, words),
  }
  return {
    tags: [words.tag],
    summary: words.summary,
    operationId: `${route.method.toLowerCase()}${path.replace(/\W+(\w)?/g, (_, first = "") => first.toUpperCase())}`,
    ...(others.length > 0 && { "x-spellings": others }),
    ...(bodyLimit > 0 && { "x-body-limit": bodyLimit }),
    ...(body && { externalDocs: { url: BODIES[wire].page, description: "The vendor's documentation." } }),
    security: securityOf(route),
    parameters: parametersOf({ path, query: words.query ?? {}, headers }),
    ...(body && { requestBody: body }),
    responses: {
      ...(!words.isRefused && { 200: answer }),
      ...failuresOf({ protocol: protocol.id, who, does, bodyLimit, names }),
    },
  }
}

function bodyOf(protocol: ProtocolId, counts: boolean): JsonObject {
  const { name, refused, counted } = BODIES[protocol]
  return {
    required: true,
    description: `Refused: ${refused.map((each) => `\`${each}\``).join(", ")}.`,
    content: { "application/json": { schema: reference(counts && counted ? `${name}Counted` : name) } },
  }
}

function bodySchemas(): JsonObject {
  return Object.fromEntries(
    Object.values(BODIES).flatMap(({ name, schema, counted }) => [
      [name, schema],
      ...(counted ? [[`${name}Counted`, counted]] : []),
    ]),
  )
}

function contentOf({ method }: GatewayRoute, { gives = vendorsOwn, streams, media }: OperationText): JsonObject {
  if (method === "HEAD") return {}
  if (media !== undefined) return { content: { [media]: { schema: text } } }
  const events = streams ? { "text/event-stream": { schema: text } } : {}
  return { content: { "application/json": { schema: gives }, ...events } }
}

interface ParameterInput {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: readonly string[]
}

function parametersOf({ path, query, headers }: ParameterInput): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    ...toParameter("path", name, name === "model" ? "`<provider>/<model-name>`; slashes need no encoding." : ""),
    required: true,
  }))
  const inQuery = Object.entries(query).map(([name, description]) => toParameter("query", name, description))
  return [...inPath, ...inQuery, ...headers.map((name) => toParameter("header", name, HEADERS[name] ?? ""))]
}

function toParameter(place: "path" | "query" | "header", name: string, description: string): JsonObject {
  return { name, in: place, ...(description !== "" && { description }), schema: filledText }
}

type SecurityLocations = Pick<Protocol, "keyHeaders" | "keyParameter">

function keyLocationsOf({ keyPlaces, protocol }: GatewayRoute): SecurityLocations {
  return keyPlaces ?? protocol
}

function securityOf(route: GatewayRoute): JsonObject[] {
  if (route.who === "anyone") return []
  const { keyHeaders, keyParameter } = keyLocationsOf(route)
  const places = ["bearer", ...keyHeaders, ...(keyParameter === undefined ? [] : [`query-${keyParameter}`])]
  return places.map((place) => ({ [place]: [] }))
}

function securitySchemes(routes: readonly GatewayRoute[]): JsonObject {
  const schemes: Record<string, JsonObject> = {
    bearer: { type: "http", scheme: "bearer", description: "An API key of the gateway. Accepted on every route." },
  }
  for (const { keyHeaders, keyParameter } of routes.map(keyLocationsOf)) {
    for (const name of keyHeaders) schemes[name] = { type: "apiKey", in: "header", name }
    if (keyParameter !== undefined)
      schemes[`query-${keyParameter}`] = { type: "apiKey", in: "query", name: keyParameter }
  }
  return schemes
}
