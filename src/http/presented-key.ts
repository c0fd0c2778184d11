// Finds the API key of a request. Two different keys, or a repeated header, are an error.
import { GatewayError } from "../canonical/gateway-error.ts"
import type { Protocol } from "../protocols/contract.ts"
import type { RequestHeaders } from "./wire/request-head.ts"

export type KeyLocations = Pick<Protocol, "keyHeaders" | "keyParameter">

/** Every protocol accepts a bearer token, and the places where its own clients put the key. */
export function presentedKey(headers: RequestHeaders, query: string, places: KeyLocations): string {
  const own = ownKeys(headers, query, places)
  const key = bearerKey(headers) ?? own[0]
  if (key === undefined) throw new GatewayError("missing_api_key", `No API key was sent. ${describeKeyHeader(places)}`)
  if (own.some((other) => other !== key)) {
    throw new GatewayError("invalid_parameter", "The request carries two different API keys. Send one.")
  }
  return key
}

function describeKeyHeader({ keyHeaders: [header] }: KeyLocations): string {
  const bearer = "`Authorization: Bearer YOUR_KEY`"
  return header ? `Send it in the header \`${header}\`, or as ${bearer}.` : `Send it in the header ${bearer}.`
}

function bearerKey(headers: RequestHeaders): string | undefined {
  const value = singleHeader(headers, "Authorization")
  if (value === undefined) return undefined
  const key = /^bearer /i.test(value) ? value.slice("Bearer ".length).trim() : ""
  if (key === "" || /\s/.test(key)) {
    const message = "The header `Authorization` must have the form `Bearer YOUR_KEY`."
    throw new GatewayError("invalid_api_key", message)
  }
  return key
}

const NONE: readonly string[] = []

function ownKeys(
  headers: RequestHeaders,
  query: string,
  { keyHeaders, keyParameter }: KeyLocations,
): readonly string[] {
  if (keyHeaders.length === 0) return NONE
  const keys: string[] = []
  for (const name of keyHeaders) {
    const value = singleHeader(headers, name)
    if (value !== undefined) keys.push(value.trim())
  }
  if (keyParameter !== undefined && query !== "") keys.push(...new URLSearchParams(query).getAll(keyParameter))
  return keys
}

function singleHeader(headers: RequestHeaders, name: string): string | undefined {
  const value = headers.get(name.toLowerCase())
  // A header that came twice is joined with a comma.
  if (!value?.includes(",")) return value ?? undefined
  throw new GatewayError("invalid_parameter", `The header \`${name}\` was sent more than once.`)
}
