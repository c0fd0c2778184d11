// Metrics of the process itself: memory, start, version, and event-loop delay.
import type { HistogramSeries, MetricRegistry } from "./metric-registry.ts"

const EVERY_MS = 50
const DELAY_BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 5]

export function processMetrics(registry: MetricRegistry, version: string): void {
  const startedAt = performance.timeOrigin / 1000
  registry.callback("trivium_process_start_time_seconds", "Unix time when the process started.", () => startedAt)
  const memory = "Resident memory of the process."
  registry.callback("trivium_process_resident_memory_bytes", memory, () => process.memoryUsage.rss())
  const build = registry.gauge("trivium_build_info", {
    help: "1; the labels show the running version and its runtime.",
    labels: ["version", "runtime"],
  })
  build.with({ version, runtime: `bun ${process.versions.bun ?? "none"}` }).value = 1
}

/** How much later than due a timer fires, looked at all the time: what every exchange waits at least. */
export class EventLoopDelay {
  private readonly delay: HistogramSeries
  private readonly timer: ReturnType<typeof setInterval>
  private due = performance.now() + EVERY_MS

  /** Calls `onLook` with the delay of every check, in milliseconds. */
  constructor(
    registry: MetricRegistry,
    private readonly onLook: (delayMs: number) => void,
  ) {
    const help = `Event loop delay, measured every ${EVERY_MS} ms.`
    this.delay = registry.histogram("trivium_event_loop_delay_seconds", { help, bounds: DELAY_BOUNDS }).with({})
    this.timer = setInterval(() => this.measure(), EVERY_MS)
    this.timer.unref()
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private measure(): void {
    const now = performance.now()
    const delayMs = Math.max(0, now - this.due)
    this.delay.observe(delayMs / 1000)
    this.onLook(delayMs)
    this.due = now + EVERY_MS
  }
}
