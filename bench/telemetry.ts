// The cost of metrics per exchange and per scrape: node scripts/bun.mjs bench/telemetry.ts
import { GatewayMetrics } from "../src/telemetry/gateway-metrics.ts"
import type { ObservedExchange } from "../src/telemetry/observed-exchange.ts"

/** Exchanges as a busy gateway sees them: a few models, streamed and not, most of them answered. */
export function busyExchanges(): ObservedExchange[] {
  return Array.from({ length: 64 }, (_, turn) => ({
    protocol: "openai-chat",
    model: `vendor/model-${turn % 16}`,
    provider: `provider-${turn % 4}`,
    stream: turn % 2 === 0,
    status: 200,
    outcome: "answered",
    error: undefined,
    attempts: 1,
    failedAttempts: undefined,
    startedAt: turn,
    firstEventAt: turn % 2 === 0 ? turn + 300 : undefined,
    usage: { input: 900, cacheRead: 100, output: 200, reasoning: 50 },
    costNanoUsd: 1_234_567n,
  }))
}

/** Microseconds per exchange, of a registry that knows all its series. */
export function observeMicros(metrics: GatewayMetrics, times: number): number {
  const exchanges = busyExchanges()
  const observeAll = (rounds: number) => {
    for (let round = 0; round < rounds; round++) for (const each of exchanges) metrics.observe(each)
  }
  observeAll(200)
  const began = performance.now()
  observeAll(times)
  return ((performance.now() - began) * 1000) / (times * exchanges.length)
}

if (import.meta.main) {
  const metrics = new GatewayMetrics({ version: "0", inFlight: () => 0, bodyBytes: () => 0 })
  console.log(`${observeMicros(metrics, 20_000).toFixed(3)} µs per exchange`)
  for (let turn = 0; turn < 2500; turn++) {
    for (const each of busyExchanges().slice(0, 2)) metrics.observe({ ...each, model: `vendor/other-${turn}` })
  }
  const began = performance.now()
  const { length } = metrics.expose()
  console.log(
    `${(performance.now() - began).toFixed(1)} ms to write all metrics at their limit: ${(length / 1e6).toFixed(1)} MB`,
  )
  metrics.stop()
}
