// Ten thousand requests through plan and health in virtual time, compared with an oracle that knows the true state.
import type { RoutingStrategy } from "../../src/canonical/chat/chat-request.ts"
import { HealthMonitor } from "../../src/routing/health-monitor.ts"
import { modelOf, StagedTable, withPrices } from "../../src/routing/route-plan.fixture.ts"
import type { PlannedTarget } from "../../src/routing/route-plan.ts"
import { seededChance } from "./seeded.ts"
import { VirtualTime } from "./virtual-time.ts"
import { PROVIDERS, ProviderWorld, type WorldProvider, type WorldRequest } from "./world.ts"

/** The outcome of one request, and the best possible one. */
interface SimulatedResult {
  readonly startedAt: number
  /** Undefined if no provider answered. */
  provider: WorldProvider | undefined
  attempts: number
  firstTokenMs: number
  cost: number
  readonly best: { readonly cost: number; readonly firstTokenMs: number } | undefined
}

export class RoutingSimulation {
  readonly results: SimulatedResult[] = []
  private readonly time = new VirtualTime()
  private readonly world: ProviderWorld
  private readonly oracle: ProviderWorld
  private readonly chance: () => number
  private readonly health: HealthMonitor
  private readonly accounts
  private stage: StagedTable
  private turn = 0

  constructor(
    private readonly strategy: RoutingStrategy | undefined,
    { seed, requests }: { seed: number; requests: number },
  ) {
    this.world = new ProviderWorld(seed)
    this.oracle = new ProviderWorld(seed + 1)
    this.chance = seededChance(seed + 2)
    this.health = new HealthMonitor({ now: () => this.time.now, chance: this.chance, onSetAside: () => {} })
    this.stage = this.tableAt(0)
    this.accounts = Object.fromEntries(this.stage.table.accounts)
    for (const ms of this.world.priceChanges()) this.time.after(ms, () => this.changePrices())
    this.arrive(requests)
    this.time.run()
  }

  /** The same accounts at other prices, as after a reload. */
  private changePrices(): void {
    this.stage = this.tableAt(this.time.now)
  }

  private tableAt(nowMs: number): StagedTable {
    const row = (provider: WorldProvider) => {
      const { input, output } = this.world.prices(provider, nowMs)
      return [provider, withPrices(input, output)] as const
    }
    const models = [modelOf("m", Object.fromEntries(PROVIDERS.map(row)))]
    return new StagedTable({ models, ...(this.accounts && { accounts: this.accounts }) })
  }

  private arrive(left: number): void {
    if (left === 0) return
    const { afterMs, ...request } = this.world.nextRequest()
    this.time.after(afterMs, () => {
      this.request(request)
      this.arrive(left - 1)
    })
  }

  private request(request: WorldRequest): void {
    const startedAt = this.time.now
    const { attempts } = this.stage.plan("m", {
      routingOptions: this.strategy ? { strategy: this.strategy } : {},
      facts: { stream: true, inputTokens: request.inputTokens, candidates: 1 },
      health: this.health.snapshot(),
      rotation: this.turn++,
      chance: this.chance(),
    })
    const best = this.best(request)
    const result: SimulatedResult = { startedAt, provider: undefined, attempts: 0, firstTokenMs: 0, cost: 0, best }
    this.results.push(result)
    this.attempt([...attempts], { request, result })
  }

  /** As in the exchange: a target that went out of rotation meanwhile is skipped, except the last. */
  private attempt(attempts: PlannedTarget[], of: { request: WorldRequest; result: SimulatedResult }): void {
    const target = attempts.shift()
    if (!target) return
    if (attempts.length > 0 && !this.health.accepts(target)) {
      this.attempt(attempts, of)
      return
    }
    const { request, result } = of
    const provider = target.account.id as WorldProvider
    const trial = this.health.beginAttempt(target)
    const begunAt = this.time.now
    const reply = this.world.ask(provider, { nowMs: begunAt, outputTokens: request.outputTokens })
    result.attempts++
    if ("failed" in reply) {
      this.time.after(reply.afterMs, () => {
        this.health.endAttempt(trial, { failed: reply.failed })
        this.attempt(attempts, of)
      })
      return
    }
    this.time.after(reply.firstTokenMs, () => {
      this.health.noteFirstToken(trial, reply.firstTokenMs)
      result.provider = provider
      result.firstTokenMs = this.time.now - result.startedAt
      result.cost = this.world.cost(provider, { nowMs: result.startedAt, ...request })
    })
    this.time.after(reply.totalMs, () => {
      this.health.endAttempt(trial, { answered: true, outputTokens: request.outputTokens })
    })
  }

  private best(request: WorldRequest): SimulatedResult["best"] {
    const nowMs = this.time.now
    const up = PROVIDERS.filter((provider) => this.oracle.isUp(provider, nowMs))
    if (up.length === 0) return undefined
    const fastest = up.reduce((one, other) =>
      this.oracle.firstTokenMs(one, nowMs) <= this.oracle.firstTokenMs(other, nowMs) ? one : other,
    )
    for (;;) {
      const reply = this.oracle.ask(fastest, { nowMs, outputTokens: request.outputTokens })
      if ("failed" in reply) continue
      const cost = Math.min(...up.map((provider) => this.oracle.cost(provider, { nowMs, ...request })))
      return { cost, firstTokenMs: reply.firstTokenMs }
    }
  }
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
