// Opens the trace exporter; a part of the composition root. Its code is loaded only if traces are configured.
import type { TracesSettings } from "./config/config.ts"
import type { GatewayMetrics } from "./telemetry/gateway-metrics.ts"
import type { Log } from "./telemetry/log.ts"
import type { Tracer } from "./telemetry/tracer.ts"
import { retryAfterMs } from "./transport/retry-after.ts"

interface OpenTracerOptions {
  readonly metrics: GatewayMetrics
  readonly log: Log
  readonly version: string
}

export async function openTracer(
  { headers, serviceName, ...traces }: TracesSettings,
  { metrics, log, version }: OpenTracerOptions,
): Promise<Tracer> {
  const { Tracer } = await import("./telemetry/tracer.ts")
  return new Tracer({
    ...traces,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
    resource: { "service.name": serviceName, "service.version": version },
    retryAfterMs,
    onSpans: (result, count) => metrics.countSpans(result, count),
    onChange: ({ takes, status }) =>
      log.line(takes ? "info" : "warn", takes ? "traces-taken" : "traces-refused", { status }),
  })
}
