// Watches a running gateway from outside under load: its memory, and the latency of a small request.
import { cpus } from "node:os"
import { setTimeout } from "node:timers/promises"
import { stolenMicros } from "../../bench/process-stat.ts"
import type { RunningGateway } from "../stage/gateway.ts"
import { LatencyProbe } from "../stage/latency-probe.ts"
import type { ProofFigure } from "./row.ts"

export interface GatewayReadings {
  /** Resident memory at its most, above what it was before. */
  readonly grownMb: number
  /** The latencies of small requests, in milliseconds. */
  readonly waits: readonly number[]
  /** The number of samples of the event loop, and of those above the bound. */
  readonly loop: LoopLooks
}

interface LoopLooks {
  readonly looks: number
  readonly late: number
}

/** A bucket of the gateway's own histogram. */
const LATE_MS = 150

export async function watch(gateway: RunningGateway, act: () => Promise<void>): Promise<GatewayReadings> {
  const before = gateway.memoryMb
  let most = before
  await loopLooks(gateway)
  const { looks, late } = await loopLooks(gateway)
  const pulse = await LatencyProbe.start(`${gateway.url}/healthz`)
  const done = act().finally(() => {
    acting = false
  })
  let acting = true
  while (acting) {
    most = Math.max(most, gateway.memoryMb)
    await setTimeout(100)
  }
  await done
  const waits = await pulse.stop()
  const after = await loopLooks(gateway)
  return { grownMb: most - before, waits, loop: { looks: after.looks - looks, late: after.late - late } }
}

async function loopLooks(gateway: RunningGateway): Promise<LoopLooks> {
  const text = await (await gateway.administer("/metrics")).text()
  const count = (label: string) =>
    Number(new RegExp(`^trivium_event_loop_delay_seconds${label} (\\d+)`, "m").exec(text)?.[1])
  const looks = count("_count")
  return { looks, late: looks - count(`_bucket\\{le="${LATE_MS / 1000}"\\}`) }
}

/** The delay of the event loop, as the gateway itself measures it. */
export function loopFigure({ late }: Pick<LoopLooks, "late">): ProofFigure {
  return { what: `samples of the event loop more than ${LATE_MS} ms late`, seen: late, atMost: 0, needsQuiet: true }
}

/** The wait that so many of a hundred stay below. */
export function percentile(waits: readonly number[], percent: number): number {
  const sorted = [...waits].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}

/** Faults of the gateway's own that its log names. */
export function faultsLogged(gateway: RunningGateway): number {
  const lines = gateway.output.stderr.split("\n").filter((line) => line.startsWith("{"))
  return lines.filter((line) => JSON.parse(line).level === "error").length
}

const LOOK_MS = 5
const STALL_MS = 15

/** Times at which this process itself was late: its measurements then show the machine, not the gateway. */
export class OwnStalls {
  private looked = performance.now()
  private stalled = Number.NEGATIVE_INFINITY
  private readonly timer = setInterval(() => this.look(), LOOK_MS)

  /** Whether it was late at any time since then. */
  since(time: number): boolean {
    this.look()
    return this.stalled > time
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private look(): void {
    const now = performance.now()
    if (now - this.looked > STALL_MS) this.stalled = now
    this.looked = now
  }
}

/** The processor time that the host of a guest machine took since this was made; zero if it is not reported. */
export class HostTheft {
  private readonly since = performance.now()
  private readonly before = stolenMs()

  /** A share of 1. */
  get share(): number {
    return (stolenMs() - this.before) / ((performance.now() - this.since) * cpus().length)
  }
}

function stolenMs(): number {
  return process.platform === "linux" ? stolenMicros(undefined) / 1000 : 0
}
