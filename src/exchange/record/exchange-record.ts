// The record of an exchange, made once when it ends, and its forms for the log and for traces.
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { ProtocolId } from "../../protocols/contract.ts"
import type { LogFields, LogLevel } from "../../telemetry/log.ts"
import type { ObservedAttempt } from "../../telemetry/observed-exchange.ts"
import type { TracedExchange } from "../../telemetry/spans.ts"
import { type AttemptFacts, toObservedTarget } from "../attempt/attempt-log.ts"
import type { ExchangeProgress } from "./exchange-progress.ts"

type ExchangeOutcome = "answered" | "refused" | "failed" | "client-gone"

/** How an exchange ended. */
export interface ExchangeEnd {
  readonly status: number
  readonly outcome: ExchangeOutcome
  readonly error?: GatewayError | undefined
  /** Recorded for rejected callers. */
  readonly clientAddress?: string | undefined
}

export const ANSWERED: ExchangeEnd = { status: 200, outcome: "answered" }
export const CLIENT_GONE: ExchangeEnd = { status: 200, outcome: "client-gone" }

/** The end of an exchange that failed with this error. */
export function failedEnd(error: GatewayError, status = 200): ExchangeEnd {
  return { status, outcome: error.owner === "caller" ? "refused" : "failed", error }
}

/** Milliseconds of the stages of an exchange and of its serving attempt. Undefined stages were not reached. */
interface ExchangeTimings {
  /** From arrival until the request was read. */
  readonly readMs: number | undefined
  /** Writing the hold. */
  readonly holdMs: number | undefined
  readonly connectMs: number | undefined
  /** From the attempt's start to the response head, to its first event with content, and to its end. */
  readonly headMs: number | undefined
  readonly firstTokenMs: number | undefined
  readonly attemptMs: number | undefined
  readonly totalMs: number
  /** The total without the time from the first attempt's start to the last one's end. */
  readonly overheadMs: number
}

export interface ExchangeRecord {
  readonly requestId: string
  readonly route: string
  readonly protocol: ProtocolId | undefined
  readonly does: string | undefined
  readonly traceparent: string | undefined
  readonly startedAt: number
  readonly endedAt: number
  readonly keyId: string | undefined
  readonly tenant: string | undefined
  readonly clientAddress: string | undefined
  readonly model: string | undefined
  /** The requested model, if a provider was called. */
  readonly requestedModel: string | undefined
  readonly provider: string | undefined
  readonly stream: boolean | undefined
  readonly attempts: number
  readonly failedAttempts: readonly ObservedAttempt[] | undefined
  /** The attempt that served the exchange, unless it failed. */
  readonly serving: AttemptFacts | undefined
  readonly status: number
  readonly outcome: ExchangeOutcome
  readonly error: GatewayError | undefined
  readonly firstEventAt: number | undefined
  readonly usage: Usage | undefined
  readonly losses: readonly Loss[] | undefined
  readonly upstreamProtocol: string | undefined
  readonly costNanoUsd: bigint | undefined
  readonly timings: ExchangeTimings
}

export function toExchangeRecord(progress: ExchangeProgress, end: ExchangeEnd): ExchangeRecord {
  const { arrival, startedAt, caller, admitted, attempts, charge } = progress
  const { serving, count } = attempts
  const endedAt = performance.now()
  return {
    requestId: arrival.requestId,
    route: arrival.route,
    protocol: arrival.protocol?.id,
    does: arrival.does,
    traceparent: arrival.traceparent,
    startedAt,
    endedAt,
    keyId: caller?.id,
    tenant: caller?.tenant,
    clientAddress: end.clientAddress,
    model: progress.model,
    requestedModel: count > 0 ? admitted?.model : undefined,
    provider: serving?.target.account.id,
    stream: admitted?.stream,
    attempts: count,
    failedAttempts: attempts.failed,
    serving: attempts.isOpen ? serving : undefined,
    status: end.status,
    outcome: end.outcome,
    error: end.error,
    firstEventAt: serving?.firstEventAt,
    usage: progress.usage,
    losses: serving?.losses,
    upstreamProtocol: serving?.target.protocol,
    costNanoUsd: charge?.settled?.costNano,
    timings: timingsOf(progress, endedAt),
  }
}

function timingsOf({ startedAt, readAt, heldAt, attempts }: ExchangeProgress, endedAt: number): ExchangeTimings {
  const { serving, firstStartedAt } = attempts
  const attemptEnd = serving?.endedAt ?? endedAt
  const totalMs = endedAt - startedAt
  return {
    readMs: between(startedAt, readAt),
    holdMs: between(readAt, heldAt),
    connectMs: serving?.connectMs,
    headMs: between(serving?.startedAt, serving?.respondedAt),
    firstTokenMs: between(serving?.startedAt, serving?.firstEventAt),
    attemptMs: between(serving?.startedAt, serving && attemptEnd),
    totalMs,
    overheadMs: firstStartedAt === undefined ? totalMs : totalMs - (attemptEnd - firstStartedAt),
  }
}

function between(from: number | undefined, until: number | undefined): number | undefined {
  return from === undefined || until === undefined ? undefined : until - from
}

/** The record with every attempt in order, for traces. */
export function toTracedExchange(record: ExchangeRecord): TracedExchange {
  const { serving, failedAttempts = [], endedAt, error } = record
  // The serving attempt came to what the exchange came to.
  const last = serving && { ...toObservedTarget(serving.target), startedAt: serving.startedAt, endedAt, error }
  return { ...record, attemptsMade: last ? [...failedAttempts, last] : failedAttempts }
}

/** Overload and shutdown are states, not faults. */
export function recordLevel({ error }: ExchangeRecord): LogLevel {
  if (error?.owner !== "gateway") return "info"
  return error.code === "overloaded" || error.code === "shutting_down" ? "warn" : "error"
}

export function recordFields(record: ExchangeRecord): LogFields {
  const { error, usage, startedAt } = record
  const elapsed = (until: number) => Math.round((until - startedAt) * 10) / 10
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
    duration_ms: elapsed(record.endedAt),
    first_event_ms: record.firstEventAt === undefined ? undefined : elapsed(record.firstEventAt),
    input_tokens: usage?.input,
    cache_read_tokens: usage?.cacheRead,
    cache_write_tokens: usage?.cacheWrite,
    output_tokens: usage?.output,
    reasoning_tokens: usage?.reasoning,
    upstream_protocol: record.losses ? record.upstreamProtocol : undefined,
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
