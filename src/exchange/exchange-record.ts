// The record of one exchange: filled while it runs, reported once when it ends.

import { GatewayError } from "../canonical/gateway-error.ts"
import type { Loss } from "../canonical/loss.ts"
import type { Usage } from "../canonical/usage.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type { ProtocolId } from "../protocols/contract.ts"
import type { Target } from "../routing/route-plan.ts"
import type { LogFields, LogLevel } from "../telemetry/log.ts"
import type { ObservedAttempt, ObservedTarget } from "../telemetry/observed-exchange.ts"
import type { TracedExchange } from "../telemetry/spans.ts"
import { ClientResponse, type ResponseBody, ResponseHeaders } from "./client-response.ts"

type ExchangeOutcome = "answered" | "refused" | "failed" | "client-gone"

export interface ExchangeRecord {
  readonly requestId: string
  /** An additional header with the request id for the protocol's clients. */
  readonly idHeader: string | undefined
  /** Such as `POST /v1/chat/completions`. */
  readonly route: string
  readonly protocol: ProtocolId | undefined
  /** What the route does, in the protocol's words. */
  does: string | undefined
  /** The caller's header, noted only where traces are on. */
  traceparent: string | undefined
  readonly startedAt: number
  keyId: string | undefined
  tenant: string | undefined
  /** Recorded for rejected callers. */
  clientAddress: string | undefined
  model: string | undefined
  /** Requested names that the key's model map replaced. */
  mappedModels: MappedModel[] | undefined
  /** The requested model; another may serve the request. */
  requestedModel: string | undefined
  provider: string | undefined
  stream: boolean | undefined
  attempts: number
  /** Where the last attempt goes, and since when. */
  target: Target | undefined
  attemptStartedAt: number
  /** Those after which another target was tried, or none was left. */
  failedAttempts: ObservedAttempt[] | undefined
  status: number
  outcome: ExchangeOutcome
  error: GatewayError | undefined
  firstEventAt: number | undefined
  usage: Usage | undefined
  /** Translation losses; absent if nothing was translated. */
  losses: readonly Loss[] | undefined
  /** What the caller pays, once it is known. */
  costNanoUsd: bigint | undefined
}

/** A name that the caller wrote, and the model that its key's model map has in its place. */
interface MappedModel {
  readonly from: string
  readonly to: string
}

/** The protocol of a route. */
interface RouteProtocol {
  readonly id: ProtocolId
  readonly idHeader?: string
}

/** All members at once: an object that gets them one by one is slower to make and to read. */
export function newRecord(requestId: string, route: string, protocol?: RouteProtocol): ExchangeRecord {
  return {
    requestId,
    idHeader: protocol?.idHeader,
    route,
    protocol: protocol?.id,
    does: undefined,
    traceparent: undefined,
    startedAt: performance.now(),
    keyId: undefined,
    tenant: undefined,
    clientAddress: undefined,
    model: undefined,
    mappedModels: undefined,
    requestedModel: undefined,
    provider: undefined,
    stream: undefined,
    attempts: 0,
    target: undefined,
    attemptStartedAt: 0,
    failedAttempts: undefined,
    status: 200,
    outcome: "answered",
    error: undefined,
    firstEventAt: undefined,
    usage: undefined,
    losses: undefined,
    costNanoUsd: undefined,
  }
}

/** An answer with the headers that say what it is and where it, or the error in its place, came from. */
export function responseOf(record: ExchangeRecord, body: ResponseBody, contentType: string): ClientResponse {
  const answer = new ClientResponse(body, record.status, new ResponseHeaders(originHeaders(record, contentType)))
  answer.headers.set("x-request-id", record.requestId)
  if (record.idHeader !== undefined) answer.headers.set(record.idHeader, record.requestId)
  if (record.costNanoUsd !== undefined) answer.headers.set("x-gateway-cost", usdOfNano(record.costNanoUsd))
  if (record.mappedModels) answer.headers.set("x-gateway-mapped-from", formatMappedNames(record.mappedModels))
  if (record.losses && record.losses.length > 0) answer.headers.set("x-gateway-losses", formatLosses(record.losses))
  return answer
}

/** The names that were mapped, as far as a header can hold what a caller wrote. */
function formatMappedNames(mapped: readonly MappedModel[]): string {
  return mapped.map(({ from }) => from.replace(/[^\x21-\x2b\x2d-\x7e]/g, "?").slice(0, 200)).join(", ")
}

const MAX_LOSSES_LENGTH = 2048

/** The number of losses, and their paths up to a length. A path may hold text of the caller. */
function formatLosses(losses: readonly Loss[]): string {
  const paths = [...new Set(losses.map(({ path }) => path.replace(/[^\x21-\x7e]/g, "?").slice(0, 200)))]
  let header = `${losses.length}`
  for (const [index, path] of paths.entries()) {
    const longer = `${header}${index === 0 ? "; " : ", "}${path}`
    if (longer.length > MAX_LOSSES_LENGTH - 5) return `${header}, ...`
    header = longer
  }
  return header
}

const origins = new Map<string, ResponseHeaders>()
const MAX_ORIGINS = 10_000

/** Most answers come from few places: their headers are made once and copied, which costs less than to set each. */
function originHeaders({ model = "", provider = "", attempts }: ExchangeRecord, contentType: string): ResponseHeaders {
  const key = attempts === 0 ? contentType : `${contentType}\n${model}\n${provider}\n${attempts}`
  const known = origins.get(key)
  if (known) return known
  const headers = new ResponseHeaders()
  headers.set("content-type", contentType)
  if (attempts > 0) {
    headers.set("x-gateway-model", model)
    headers.set("x-gateway-provider", provider)
    headers.set("x-gateway-attempts", String(attempts))
  }
  if (origins.size >= MAX_ORIGINS) origins.clear()
  origins.set(key, headers)
  return headers
}

/** The client has left. The cause is the failure up to then, if any. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError"
}

export function noteFailure(record: ExchangeRecord, error: GatewayError): void {
  record.error = error
  record.outcome = error.owner === "caller" ? "refused" : "failed"
}

/** An attempt at this target begins. */
export function noteAttempt(record: ExchangeRecord, target: Target): void {
  record.requestedModel ??= record.model
  record.attempts++
  record.losses = undefined
  record.usage = undefined
  record.model = target.model.id
  record.provider = target.account.id
  record.target = target
  record.attemptStartedAt = performance.now()
}

/** The attempt that was begun last has failed, and is not the exchange's last word. */
export function noteFailedAttempt(
  record: ExchangeRecord,
  { target, startedAt, error }: { target: Target; startedAt: number; error: GatewayError },
): void {
  record.failedAttempts ??= []
  record.failedAttempts.push({ ...observedTarget(target), startedAt, endedAt: performance.now(), error })
}

/** Another attempt won the race. */
export function noteLostRace(
  record: ExchangeRecord,
  { target, startedAt }: { target: Target; startedAt: number },
): void {
  const times = { startedAt, endedAt: performance.now() }
  record.failedAttempts ??= []
  record.failedAttempts.push({ ...observedTarget(target), ...times, error: undefined, outrun: true })
}

/** An exchange that is over, with every attempt. */
export function toTracedExchange(record: ExchangeRecord): TracedExchange {
  const endedAt = performance.now()
  const { target, attemptStartedAt: startedAt, failedAttempts = [] } = record
  const isOpen = target && record.attempts > failedAttempts.length
  // What the exchange came to is what its last attempt came to.
  const last = isOpen && { ...observedTarget(target), startedAt, endedAt, error: record.error }
  return { ...record, endedAt, attemptsMade: last ? [...failedAttempts, last] : failedAttempts }
}

function observedTarget({ account, model, upstreamModel, endpoint }: Target): ObservedTarget {
  return { provider: account.id, model: model.id, upstreamModel, baseUrl: endpoint.baseUrl }
}

/** To be too busy, or on the way out, is a state and not a fault. */
export function recordLevel({ error }: ExchangeRecord): LogLevel {
  if (error?.owner !== "gateway") return "info"
  return error.code === "overloaded" || error.code === "shutting_down" ? "warn" : "error"
}

export function recordFields(record: ExchangeRecord): LogFields {
  const { error, usage } = record
  const elapsed = (until: number) => Math.round((until - record.startedAt) * 10) / 10
  return {
    request_id: record.requestId,
    route: record.route,
    protocol: record.protocol,
    key_id: record.keyId,
    tenant: record.tenant,
    client_address: record.clientAddress,
    model: record.model,
    provider: record.provider,
    stream: record.stream,
    status: record.status,
    outcome: record.outcome,
    error_code: error?.code,
    error_owner: error?.owner,
    attempts: record.attempts,
    duration_ms: elapsed(performance.now()),
    first_event_ms: record.firstEventAt === undefined ? undefined : elapsed(record.firstEventAt),
    input_tokens: usage?.input,
    cache_read_tokens: usage?.cacheRead,
    cache_write_tokens: usage?.cacheWrite,
    output_tokens: usage?.output,
    reasoning_tokens: usage?.reasoning,
    upstream_protocol: record.losses ? record.target?.protocol : undefined,
    losses: record.losses?.length,
    stack: stackOf(error?.cause),
  }
}

/** Where in our own code a fault lies. Its message may quote what a caller or an upstream sent, so it is left out. */
export function stackOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || cause instanceof GatewayError || cause.stack === undefined) return undefined
  const { name, message, stack } = cause
  // A message may have lines that look like a frame's; it is what the stack begins with.
  const messageAt = message === "" ? -1 : stack.indexOf(message)
  const trace = messageAt < 0 ? stack : stack.slice(messageAt + message.length)
  const frames = trace.split("\n").filter((line) => FRAME.test(line))
  return [ERROR_NAME.test(name) ? name : "Error", ...frames.slice(0, 8)].join("\n")
}

/** `at function (file:line:column)`, as the runtime writes it. */
const FRAME = /^\s*at .*:\d+(:\d+)?\)?$/
const ERROR_NAME = /^[A-Za-z]{1,40}$/
