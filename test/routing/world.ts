// Three providers of one model with outages, slow starts, slow periods and changing prices. Their true state is known
// only here, and not in src/.
import { lognormal, seededChance } from "./seeded.ts"

export const PROVIDERS = ["one", "two", "three"] as const
export type WorldProvider = (typeof PROVIDERS)[number]

/** In seconds. */
interface TimeSpan {
  readonly from: number
  readonly to: number
}

interface ProviderTruth {
  readonly outages: readonly (TimeSpan & { readonly how: "refused" | "error" | "hangs" })[]
  /** Times as long until the first token. */
  readonly slow: readonly (TimeSpan & { readonly times: number })[]
  readonly firstTokenMs: number
  /** The share of requests that fail at any time. */
  readonly failing: number
  /** In USD per million tokens, from a time on. */
  readonly prices: readonly { readonly from: number; readonly input: number; readonly output: number }[]
}

/** The times when no provider answers. */
const BLACKOUT = { from: 930, to: 936, how: "error" } as const

/** The seconds for which a provider is slow after an outage. */
const SLOW_START = { seconds: 20, times: 4 }

const TRUTH: Readonly<Record<WorldProvider, ProviderTruth>> = {
  one: {
    outages: [{ from: 150, to: 190, how: "error" }, BLACKOUT],
    slow: [{ from: 520, to: 640, times: 5 }],
    firstTokenMs: 400,
    failing: 0.002,
    prices: [
      { from: 0, input: 1, output: 4 },
      { from: 600, input: 2.2, output: 8 },
    ],
  },
  two: {
    outages: [{ from: 330, to: 345, how: "refused" }, { from: 760, to: 860, how: "hangs" }, BLACKOUT],
    slow: [],
    firstTokenMs: 650,
    failing: 0.002,
    prices: [{ from: 0, input: 1.3, output: 4.4 }],
  },
  three: {
    outages: [{ from: 170, to: 185, how: "error" }, { from: 800, to: 810, how: "refused" }, BLACKOUT],
    slow: [{ from: 100, to: 180, times: 3 }],
    firstTokenMs: 900,
    failing: 0.02,
    prices: [
      { from: 0, input: 2, output: 6 },
      { from: 400, input: 0.9, output: 3.5 },
      { from: 700, input: 1.4, output: 5 },
    ],
  },
}

/** The result of a call to a provider. */
export type WorldReply =
  | { readonly failed: "connect" | "server" | "timeout"; readonly afterMs: number }
  | { readonly firstTokenMs: number; readonly totalMs: number }

const FAILS: Readonly<Record<ProviderTruth["outages"][number]["how"], WorldReply>> = {
  refused: { failed: "connect", afterMs: 5 },
  error: { failed: "server", afterMs: 120 },
  hangs: { failed: "timeout", afterMs: 10_000 },
}

export interface WorldRequest {
  readonly inputTokens: number
  readonly outputTokens: number
}

export class ProviderWorld {
  private readonly chance: () => number

  constructor(seed: number) {
    this.chance = seededChance(seed)
  }

  nextRequest(): WorldRequest & { readonly afterMs: number } {
    return {
      afterMs: -Math.log(1 - this.chance()) * 100,
      inputTokens: Math.ceil(lognormal(this.chance, { median: 1500, sigma: 1 })),
      outputTokens: Math.ceil(lognormal(this.chance, { median: 300, sigma: 0.8 })),
    }
  }

  isUp(provider: WorldProvider, nowMs: number): boolean {
    return !TRUTH[provider].outages.some((spell) => isIn(spell, nowMs))
  }

  /** The median until the first token. */
  firstTokenMs(provider: WorldProvider, nowMs: number): number {
    const { firstTokenMs, slow, outages } = TRUTH[provider]
    const starts = outages.some(({ to }) => isIn({ from: to, to: to + SLOW_START.seconds }, nowMs))
    const spell = slow.find((each) => isIn(each, nowMs))
    return firstTokenMs * (spell?.times ?? 1) * (starts ? SLOW_START.times : 1)
  }

  prices(provider: WorldProvider, nowMs: number): { readonly input: number; readonly output: number } {
    const { prices } = TRUTH[provider]
    return prices.findLast(({ from }) => nowMs >= from * 1000) ?? { input: 0, output: 0 }
  }

  /** When a price changes. */
  priceChanges(): number[] {
    const times = PROVIDERS.flatMap((provider) => TRUTH[provider].prices.map(({ from }) => from * 1000))
    return [...new Set(times)].filter((ms) => ms > 0).sort((one, other) => one - other)
  }

  ask(provider: WorldProvider, { nowMs, outputTokens }: { nowMs: number; outputTokens: number }): WorldReply {
    const { outages, failing } = TRUTH[provider]
    const outage = outages.find((spell) => isIn(spell, nowMs))
    if (outage) return FAILS[outage.how]
    if (this.chance() < failing) return FAILS.error
    const firstTokenMs = lognormal(this.chance, { median: this.firstTokenMs(provider, nowMs), sigma: 0.35 })
    return { firstTokenMs, totalMs: firstTokenMs + outputTokens * 12 }
  }

  /** In USD millionths of a token's price. */
  cost(provider: WorldProvider, { nowMs, inputTokens, outputTokens }: WorldRequest & { nowMs: number }): number {
    const { input, output } = this.prices(provider, nowMs)
    return inputTokens * input + outputTokens * output
  }
}

function isIn({ from, to }: TimeSpan, nowMs: number): boolean {
  return nowMs >= from * 1000 && nowMs < to * 1000
}
