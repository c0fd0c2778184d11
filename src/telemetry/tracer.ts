// Makes spans of exchanges that are over, and hands them to the exporter. Loaded only where traces are on.
import { randomBytes } from "node:crypto"
import { type ExporterOptions, OtlpExporter } from "./otlp-exporter.ts"
import { attemptSpan, exchangeSpan, type TracedExchange } from "./spans.ts"
import { parseTraceParent } from "./trace-context.ts"

export interface TracerOptions extends ExporterOptions {
  /** The share of exchanges that are traced, where the caller does not say. */
  readonly sample: number
}

export class Tracer {
  private readonly exporter: OtlpExporter

  constructor(private readonly options: TracerOptions) {
    this.exporter = new OtlpExporter(options)
  }

  /** `traceparent` is the header as it came. */
  trace(exchange: TracedExchange, traceparent: string | undefined): void {
    const parent = traceparent === undefined ? undefined : parseTraceParent(traceparent)
    const sampled = parent ? parent.sampled : Math.random() < this.options.sample
    if (!sampled) return
    // Both ids are 16 random bytes, so the request id serves as the trace id.
    const traceId = parent?.traceId ?? exchange.requestId.replaceAll("-", "")
    const spanId = newSpanId()
    const unixOffsetMs = Date.now() - performance.now()
    const spans = [exchangeSpan(exchange, { place: { traceId, spanId, parentSpanId: parent?.spanId }, unixOffsetMs })]
    for (const attempt of exchange.attemptsMade) {
      const place = { traceId, spanId: newSpanId(), parentSpanId: spanId }
      spans.push(attemptSpan(attempt, { place, exchange, unixOffsetMs }))
    }
    this.exporter.add(spans)
  }

  /** Sends what waits, but not for long. */
  stop(): Promise<void> {
    return this.exporter.flush()
  }
}

function newSpanId(): string {
  return randomBytes(8).toString("hex")
}
