// An exchange and its attempts as OTLP spans, with the names of OpenTelemetry's conventions for generative AI. Each
// attribute is named here one by one: what is not, does not get into a span.
import type { ObservedAttempt, ObservedExchange, ObservedUsage } from "./observed-exchange.ts"

export interface TracedExchange extends ObservedExchange {
  readonly requestId: string
  /** Method and path of the route, not of the request. */
  readonly route: string
  readonly does: string | undefined
  readonly keyId: string | undefined
  readonly tenant: string | undefined
  /** The requested model; another may have answered. */
  readonly requestedModel: string | undefined
  /** Every attempt, in order. */
  readonly attemptsMade: readonly ObservedAttempt[]
  readonly endedAt: number
}

/** The position of a span: its trace, its own id, and its parent. */
export interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string | undefined
}

interface UnixClock {
  /** What must be added to `performance.now()` for the Unix time in milliseconds. */
  readonly unixOffsetMs: number
}

type AttributeValue = string | number | boolean | undefined
type SpanAttributes = Readonly<Record<string, AttributeValue>>

const KIND = { server: 2, client: 3 } as const
const STATUS_ERROR = 2

export function exchangeSpan(
  exchange: TracedExchange,
  { place, unixOffsetMs }: { place: SpanContext } & UnixClock,
): string {
  const { error, outcome, stream, startedAt, firstEventAt, endedAt } = exchange
  const operation = operationOf(exchange)
  const model = exchange.requestedModel ?? exchange.model
  const answeredBy = exchange.attemptsMade.at(-1)
  const [method, path] = exchange.route.split(" ")
  return encodeSpan({
    ...place,
    name: model === undefined ? operation : `${operation} ${model}`,
    kind: KIND.server,
    startMs: unixOffsetMs + startedAt,
    endMs: unixOffsetMs + endedAt,
    // The caller's own mistakes are no errors of a server.
    failed: outcome === "failed",
    attributes: {
      "gen_ai.operation.name": operation,
      ...(answeredBy && providerNames(answeredBy)),
      "gen_ai.request.model": model,
      "gen_ai.request.stream": stream || undefined,
      "gen_ai.response.model": outcome === "answered" ? exchange.model : undefined,
      "gen_ai.response.time_to_first_chunk": firstEventAt === undefined ? undefined : (firstEventAt - startedAt) / 1000,
      ...(exchange.usage && usageAttributes(exchange.usage)),
      "http.request.method": method,
      "http.route": path,
      "http.response.status_code": exchange.status,
      "error.type": error?.code,
      "trivium.request_id": exchange.requestId,
      "trivium.key_id": exchange.keyId,
      "trivium.tenant": exchange.tenant,
      "trivium.protocol": exchange.protocol,
      "trivium.outcome": outcome,
      "trivium.attempts": exchange.attempts,
    },
  })
}

export function attemptSpan(
  attempt: ObservedAttempt,
  { place, exchange, unixOffsetMs }: { place: SpanContext; exchange: TracedExchange } & UnixClock,
): string {
  const operation = operationOf(exchange)
  return encodeSpan({
    ...place,
    name: `${operation} ${attempt.upstreamModel}`,
    kind: KIND.client,
    startMs: unixOffsetMs + attempt.startedAt,
    endMs: unixOffsetMs + attempt.endedAt,
    failed: attempt.error !== undefined,
    attributes: {
      "gen_ai.operation.name": operation,
      ...providerNames(attempt),
      "gen_ai.request.model": attempt.upstreamModel,
      "gen_ai.request.stream": exchange.stream || undefined,
      ...addressAttributes(attempt.baseUrl),
      "http.response.status_code": attempt.error?.upstreamStatus,
      "error.type": attempt.error?.code,
      "trivium.provider": attempt.provider,
      "trivium.model": attempt.model,
    },
  })
}

const OPERATIONS: Readonly<Record<string, string>> = {
  "openai-embeddings": "embeddings",
  "openai-completions": "text_completion",
  "openai-images": "generate_content",
  "openai-moderations": "moderate",
  "gemini-generate": "generate_content",
  "gemini-embed": "embeddings",
}

function operationOf({ protocol = "", does }: TracedExchange): string {
  return does === "count-tokens" ? "count_tokens" : (OPERATIONS[protocol] ?? "chat")
}

/** The conventions' names for providers, where they differ from ours. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  google: "gcp.gemini",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  vertex: "gcp.vertex_ai",
  xai: "x_ai",
}

/** Under the older name too, which many tools still read. */
function providerNames({ provider }: ObservedAttempt): SpanAttributes {
  const name = PROVIDER_NAMES[provider] ?? provider
  return { "gen_ai.provider.name": name, "gen_ai.system": name }
}

/** The conventions count what was cached, or reasoned, among input and output; our buckets do not overlap. */
function usageAttributes(usage: ObservedUsage): SpanAttributes {
  const { input, cacheRead, cacheWrite, cacheWrite1h, audioInput, imageInput } = usage
  const { output, reasoning, audioOutput, imageOutput } = usage
  return {
    "gen_ai.usage.input_tokens": sumCounts(input, cacheRead, cacheWrite, cacheWrite1h, audioInput, imageInput),
    "gen_ai.usage.output_tokens": sumCounts(output, reasoning, audioOutput, imageOutput),
    "gen_ai.usage.cache_read.input_tokens": cacheRead,
    "gen_ai.usage.cache_creation.input_tokens": sumCounts(cacheWrite, cacheWrite1h),
    "gen_ai.usage.reasoning.output_tokens": reasoning,
  }
}

function sumCounts(...counts: (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined)
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0)
}

const PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 }

/** Host and port only: an address may hold more than others should read. */
function addressAttributes(baseUrl: string): SpanAttributes {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || url.hostname === "") return {}
  return { "server.address": url.hostname, "server.port": Number(url.port) || PORTS[url.protocol] }
}

interface SpanFacts extends SpanContext {
  readonly name: string
  readonly kind: number
  readonly startMs: number
  readonly endMs: number
  readonly failed: boolean
  readonly attributes: SpanAttributes
}

function encodeSpan({ traceId, spanId, parentSpanId, name, kind, ...facts }: SpanFacts): string {
  return JSON.stringify({
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startTimeUnixNano: nanos(facts.startMs),
    endTimeUnixNano: nanos(Math.max(facts.startMs, facts.endMs)),
    attributes: encodeAttributes(facts.attributes),
    status: facts.failed ? { code: STATUS_ERROR } : {},
  })
}

/** As the format wants them: a list, each value with its type, whole numbers as text. */
export function encodeAttributes(attributes: SpanAttributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: encodeValue(value) }],
  )
}

function encodeValue(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value }
  if (typeof value === "boolean") return { boolValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Nanoseconds do not fit a number; microseconds do. */
function nanos(ms: number): string {
  return `${Math.round(ms * 1000)}000`
}
