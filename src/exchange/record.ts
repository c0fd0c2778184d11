// What is remembered of one exchange while it runs, and told once when it is over.
import { GatewayError } from "../canonical/error.ts"
import type { Usage } from "../canonical/usage.ts"
import type { LogFields, LogLevel } from "../telemetry/log.ts"

type Outcome = "answered" | "refused" | "failed" | "client-gone"

export interface ExchangeRecord {
  readonly requestId: string
  readonly startedAt: number
  readonly route: string
  keyId?: string
  tenant?: string
  model?: string
  provider?: string
  stream?: boolean
  attempts: number
  status: number
  outcome: Outcome
  error?: GatewayError
  firstEventAt?: number
  usage?: Usage
}

export function newRecord(requestId: string, { method, path }: { method: string; path: string }): ExchangeRecord {
  return {
    requestId,
    route: `${method} ${path}`,
    startedAt: performance.now(),
    attempts: 0,
    status: 200,
    outcome: "answered",
  }
}

/** The headers that say where an answer, or the error in its place, came from. */
export function originHeaders({ model = "", provider = "", attempts }: ExchangeRecord): Record<string, string> {
  if (attempts === 0) return {}
  return { "x-gateway-model": model, "x-gateway-provider": provider, "x-gateway-attempts": String(attempts) }
}

/** The client has left: nobody is there to read an answer. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError"
}

export function noteFailure(record: ExchangeRecord, error: GatewayError): void {
  record.error = error
  record.outcome = error.owner === "caller" ? "refused" : "failed"
}

export function recordLevel({ error }: ExchangeRecord): LogLevel {
  return error?.owner === "gateway" ? "error" : "info"
}

export function recordFields(record: ExchangeRecord): LogFields {
  const { error, usage } = record
  const elapsed = (until: number) => Math.round((until - record.startedAt) * 10) / 10
  return {
    request_id: record.requestId,
    route: record.route,
    key_id: record.keyId,
    tenant: record.tenant,
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
    stack: stackOf(error?.cause),
  }
}

/** Where in our own code a fault lies. Its message may quote what a caller or an upstream sent, so it is left out. */
export function stackOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || cause instanceof GatewayError || cause.stack === undefined) return undefined
  const frames = cause.stack.split("\n").filter((line) => /^\s*at /.test(line))
  return [cause.name, ...frames.slice(0, 8)].join("\n")
}
