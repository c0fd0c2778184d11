// The gateway's metrics: counters of every exchange, and gauges read on exposition. One call per exchange.

import {
  type CounterSeries,
  type GaugeSeries,
  type HistogramSeries,
  MetricRegistry,
  type NanoCounterSeries,
} from "./metric-registry.ts"
import type { ObservedAttempt, ObservedError, ObservedExchange, ObservedUsage } from "./observed-exchange.ts"
import { EventLoopDelay, processMetrics } from "./process-metrics.ts"

/** The label of an unknown model or provider. */
const NONE = "none"
/** Sets of labels whose series are kept at hand; beyond it all are looked up anew. */
const MAX_AT_HAND = 10_000

const FIRST_TOKEN_BOUNDS = [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 30, 60, 120, 300]
const DURATION_BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

const BUCKETS = [
  ["input", "input"],
  ["cacheRead", "cache_read"],
  ["cacheWrite", "cache_write"],
  ["cacheWrite1h", "cache_write_1h"],
  ["audioInput", "audio_input"],
  ["imageInput", "image_input"],
  ["output", "output"],
  ["reasoning", "reasoning"],
  ["audioOutput", "audio_output"],
  ["imageOutput", "image_output"],
] as const satisfies readonly (readonly [keyof ObservedUsage, string])[]

type ServedTarget = { readonly model: string; readonly provider: string }

type ExchangeLabels = Pick<ObservedExchange, "protocol" | "model" | "provider" | "outcome" | "stream"> & {
  readonly statusClass: string
  readonly called: boolean
}

/** The series of exchanges that are alike in all their labels. */
interface ExchangeSeries {
  readonly labels: ExchangeLabels
  readonly served: ServedTarget
  readonly requests: CounterSeries
  readonly duration: HistogramSeries | undefined
  readonly firstToken: HistogramSeries | undefined
  /** By their place among the buckets; made when first needed. */
  readonly tokens: (CounterSeries | undefined)[]
  cost: NanoCounterSeries | undefined
  /** Of the last attempt, where it was answered. */
  readonly answered: CounterSeries | undefined
  readonly failuresInARow: GaugeSeries | undefined
}

export interface MetricsOptions {
  readonly version: string
  readonly inFlight: () => number
  readonly bodyBytes: () => number
  /** What is in suspense, and what all accounts owe; never throws. */
  readonly suspenseNano?: () => bigint
  readonly debtNano?: () => bigint
  /** Receives each event loop delay sample. */
  readonly onLoopDelay?: (delayMs: number) => void
}

export class GatewayMetrics {
  readonly registry = new MetricRegistry()
  private readonly delay: EventLoopDelay
  private readonly seriesByExchange = new Map<string, ExchangeSeries>()
  /** The series of the exchange before, which often are those of the next. */
  private lastSeries: ExchangeSeries | undefined
  private readonly requests = this.registry.counter("trivium_requests_total", {
    help: "Finished exchanges.",
    labels: ["protocol", "model", "provider", "outcome", "status_class"],
  })
  private readonly tokens = this.registry.counter("trivium_tokens_total", {
    help: "Tokens reported by providers, in disjoint buckets.",
    labels: ["model", "provider", "bucket"],
  })
  private readonly cost = this.registry.nanoCounter("trivium_cost_usd_total", {
    help: "Cost of exchanges, in USD.",
    labels: ["model", "provider"],
  })
  private readonly firstToken = this.registry.histogram("trivium_first_token_seconds", {
    help: "Time from the arrival of a streamed request to the first event with content.",
    labels: ["model", "provider"],
    bounds: FIRST_TOKEN_BOUNDS,
  })
  private readonly duration = this.registry.histogram("trivium_duration_seconds", {
    help: "Time from arrival to the end of the response, for exchanges that called a provider.",
    labels: ["model", "provider", "streamed"],
    bounds: DURATION_BOUNDS,
  })
  private readonly attempts = this.registry.counter("trivium_attempts_total", {
    help: "Calls to providers. The result is `answered`, `client-gone` or an error code.",
    labels: ["provider", "model", "result"],
  })
  private readonly failuresInARow = this.registry.gauge("trivium_upstream_failures_in_a_row", {
    help: "Consecutive failed attempts since the provider's last response. 0: the last attempt succeeded.",
    labels: ["provider"],
  })
  private readonly spans = this.registry.counter("trivium_trace_spans_total", {
    help: "Spans that were `sent`, `failed` at the collector, or `dropped` because the queue was full.",
    labels: ["result"],
  })

  private readonly shed = this.registry.counter("trivium_shed_total", {
    help: "Requests rejected with 503 `overloaded` because of `in_flight`, `key_share`, `loop_delay` or `body_bytes`.",
    labels: ["reason"],
  })

  constructor({ version, inFlight, bodyBytes, onLoopDelay = () => {}, ...books }: MetricsOptions) {
    const { suspenseNano = () => 0n, debtNano = () => 0n } = books
    this.registry.callback("trivium_in_flight", "Running exchanges.", inFlight)
    this.registry.callback("trivium_body_bytes_being_read", "Bytes of large bodies being read.", bodyBytes)
    const suspense = "Amounts held by killed gateways, not yet settled or returned, in USD."
    this.registry.nanoCallback("trivium_suspense_usd", suspense, suspenseNano)
    this.registry.nanoCallback("trivium_debt_usd", "Total debt of all accounts, in USD.", debtNano)
    processMetrics(this.registry, version)
    this.delay = new EventLoopDelay(this.registry, onLoopDelay)
  }

  /** Every metric, as Prometheus reads it; its media type is `EXPOSITION_TYPE`. */
  expose(): string {
    return this.registry.write()
  }

  /** Called once per exchange, when it ends. */
  observe(exchange: ObservedExchange, now = performance.now()): void {
    const alike = this.seriesOf(exchange)
    alike.requests.add()
    alike.duration?.observe((now - exchange.startedAt) / 1000)
    if (exchange.firstEventAt !== undefined) {
      alike.firstToken?.observe((exchange.firstEventAt - exchange.startedAt) / 1000)
    }
    if (exchange.usage) this.countTokens(exchange.usage, alike)
    if (exchange.costNanoUsd !== undefined) {
      alike.cost ??= this.cost.with(alike.served)
      alike.cost.add(exchange.costNanoUsd)
    }
    // The attempts in the order they were made: a provider's last result is what counts for its health.
    for (const attempt of exchange.failedAttempts ?? []) this.countFailure(attempt)
    if (alike.answered) {
      alike.answered.add()
      if (alike.failuresInARow) alike.failuresInARow.value = 0
    } else if (exchange.attempts > (exchange.failedAttempts?.length ?? 0)) this.countLast(exchange, alike.served)
  }

  countSpans(result: "sent" | "failed" | "dropped", count: number): void {
    this.spans.with({ result }).add(count)
  }

  countShed(reason: string): void {
    this.shed.with({ reason }).add()
  }

  stop(): void {
    this.delay.stop()
  }

  private countTokens(usage: ObservedUsage, { tokens, served }: ExchangeSeries): void {
    for (let place = 0; place < BUCKETS.length; place++) {
      const [member, bucket] = BUCKETS[place] as (typeof BUCKETS)[number]
      const count = usage[member]
      if (count === undefined || count <= 0) continue
      tokens[place] ??= this.tokens.with({ ...served, bucket })
      tokens[place]?.add(count)
    }
  }

  private countFailure({ provider, model, error, outrun }: ObservedAttempt): void {
    this.attempts.with({ provider, model, result: outrun ? "outrun" : (error?.code ?? NONE) }).add()
    if (isUpstreamError(error)) this.failuresInARow.with({ provider }).value++
  }

  private countLast({ outcome, error }: ObservedExchange, { provider, model }: ServedTarget): void {
    const result = outcome === "client-gone" ? outcome : (error?.code ?? NONE)
    this.attempts.with({ provider, model, result }).add()
    if (outcome !== "client-gone" && isUpstreamError(error)) this.failuresInARow.with({ provider }).value++
  }

  private seriesOf(exchange: ObservedExchange): ExchangeSeries {
    const { protocol = NONE, model = NONE, provider = NONE, outcome, stream = false } = exchange
    const status_class = STATUS_CLASSES[Math.floor(exchange.status / 100)] ?? NONE
    const called = exchange.attempts > 0
    const labels = { protocol, model, provider, outcome, stream, statusClass: status_class, called }
    if (this.lastSeries && isAlike(this.lastSeries.labels, labels)) return this.lastSeries
    const key = `${model}\n${provider}\n${protocol}\n${outcome}${status_class}${stream}${called}`
    const known = this.seriesByExchange.get(key)
    if (known) {
      this.lastSeries = known
      return known
    }
    const served = { model, provider }
    const answered = called && outcome === "answered"
    const made: ExchangeSeries = {
      labels,
      served,
      requests: this.requests.with({ protocol, ...served, outcome, status_class }),
      duration: called ? this.duration.with({ ...served, streamed: String(stream) }) : undefined,
      firstToken: called && stream ? this.firstToken.with(served) : undefined,
      tokens: [],
      cost: undefined,
      answered: answered ? this.attempts.with({ ...served, result: "answered" }) : undefined,
      failuresInARow: answered ? this.failuresInARow.with({ provider }) : undefined,
    }
    if (this.seriesByExchange.size >= MAX_AT_HAND) this.seriesByExchange.clear()
    this.seriesByExchange.set(key, made)
    this.lastSeries = made
    return made
  }
}

function isAlike(one: ExchangeLabels, other: ExchangeLabels): boolean {
  return (
    one.model === other.model &&
    one.provider === other.provider &&
    one.protocol === other.protocol &&
    one.outcome === other.outcome &&
    one.statusClass === other.statusClass &&
    one.stream === other.stream &&
    one.called === other.called
  )
}

const STATUS_CLASSES = [NONE, "1xx", "2xx", "3xx", "4xx", "5xx"]

/** Whether a failure counts against the provider; what the caller or the gateway did wrong does not. */
function isUpstreamError(error: ObservedError | undefined): boolean {
  return error?.owner === "upstream"
}
