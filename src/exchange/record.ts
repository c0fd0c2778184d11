// What is remembered of one exchange while it runs, and told once when it is over.
import { GatewayError } from "../canonical/error.ts"
import type { Usage } from "../canonical/usage.ts"
import type { LogFields, LogLevel } from "../telemetry/log.ts"

type Outcome = "answered" | "refused" | "failed" | "client-gone"

export interface ExchangeRecord {
  readonly requestId: string
  /** A header that the protocol's clients read it from, beside `x-request-id`. */
  readonly idHeader: string | undefined
  /** Such as `POST /v1/chat/completions`. */
  readonly route: string
  readonly startedAt: number
  keyId: string | undefined
  tenant: string | undefined
  model: string | undefined
  provider: string | undefined
  stream: boolean | undefined
  attempts: number
  status: number
  outcome: Outcome
  error: GatewayError | undefined
  firstEventAt: number | undefined
  usage: Usage | undefined
}

/** All members at once: an object that gets them one by one is slower to make and to read. */
export function newRecord(requestId: string, route: string, idHeader?: string): ExchangeRecord {
  return {
    requestId,
    idHeader,
    route,
    startedAt: performance.now(),
    keyId: undefined,
    tenant: undefined,
    model: undefined,
    provider: undefined,
    stream: undefined,
    attempts: 0,
    status: 200,
    outcome: "answered",
    error: undefined,
    firstEventAt: undefined,
    usage: undefined,
  }
}

/** An answer with the headers that say what it is and where it, or the error in its place, came from. */
export function answerOf(
  record: ExchangeRecord,
  body: ConstructorParameters<typeof Response>[0],
  contentType: string,
): Response {
  const answer = new Response(body, { status: record.status, headers: originHeaders(record, contentType) })
  answer.headers.set("x-request-id", record.requestId)
  if (record.idHeader !== undefined) answer.headers.set(record.idHeader, record.requestId)
  return answer
}

const origins = new Map<string, Headers>()
const MAX_ORIGINS = 10_000

/** Most answers come from few places: their headers are made once and copied, which costs less than to set each. */
function originHeaders({ model = "", provider = "", attempts }: ExchangeRecord, contentType: string): Headers {
  const key = attempts === 0 ? contentType : `${contentType}\n${model}\n${provider}\n${attempts}`
  const known = origins.get(key)
  if (known) return known
  const headers = new Headers({ "content-type": contentType })
  if (attempts > 0) {
    headers.set("x-gateway-model", model)
    headers.set("x-gateway-provider", provider)
    headers.set("x-gateway-attempts", String(attempts))
  }
  if (origins.size >= MAX_ORIGINS) origins.clear()
  origins.set(key, headers)
  return headers
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
