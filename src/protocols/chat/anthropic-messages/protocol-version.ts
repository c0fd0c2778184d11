// The version header of every call, in the specification's spelling or the vendor's, and its upstream value.
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { RequestEnvelope } from "../../contract.ts"

/** Newest first. */
const KNOWN = ["2026-10-21", "2023-06-01", "2023-01-01"] as const
const OLDEST = "2023-01-01"

export const readsHeaders: readonly string[] = ["msg-version", "anthropic-version", "anthropic-beta"]

/** Callers send few different versions, so parsed ones are cached. */
const versions = new Map<string, string>()
const upstream = new Map<string, Readonly<Record<string, string>>>()
const MAX_KEPT = 100

/** The newest known version that is not after the requested one. */
export function readVersion({ headers }: RequestEnvelope): string {
  const requested = headers["msg-version"] ?? headers["anthropic-version"]
  if (requested === undefined) throw invalid("The header `msg-version` (or `anthropic-version`) is missing")
  return versions.get(requested) ?? rememberValue(versions, requested, newestUntil(requested))
}

function newestUntil(requested: string): string {
  if (!isDate(requested) || requested < OLDEST) throw invalid("The header `msg-version` is not a version")
  return KNOWN.find((known) => known <= requested) ?? OLDEST
}

function rememberValue<Value>(kept: Map<string, Value>, key: string, value: Value): Value {
  if (kept.size >= MAX_KEPT) kept.clear()
  kept.set(key, value)
  return value
}

/** Newer clients put instructions among the messages; they use the vendor's spelling of the header. */
export function takesInstructions({ headers }: RequestEnvelope): boolean {
  return headers["anthropic-version"] !== undefined
}

export function upstreamHeaders(envelope: RequestEnvelope): Readonly<Record<string, string>> {
  const version = readVersion(envelope)
  const beta = envelope.headers["anthropic-beta"]
  const key = beta === undefined ? version : `${version} ${beta}`
  const cached = upstream.get(key)
  if (cached) return cached
  return rememberValue(upstream, key, {
    "anthropic-version": version,
    ...(beta !== undefined && { "anthropic-beta": beta }),
  })
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function invalid(what: string): GatewayError {
  const message = `${what}. Send a date of the form YYYY-MM-DD from ${OLDEST} on, such as \`msg-version: 2023-06-01\`.`
  return new GatewayError("invalid_version", message, { param: "msg-version" })
}
