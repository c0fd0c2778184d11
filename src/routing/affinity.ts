// Remembers the target that last answered each session, because its prompt cache is there. Bounded and expiring: a lost
// entry costs a cache, not an answer.
import type { Usage } from "../canonical/usage.ts"
import { discountsCache } from "./expected-cost.ts"
import type { Target } from "./target.ts"

/** The target that holds a session's prompt cache. */
export interface SessionHome {
  readonly account: Target["account"]
  readonly upstreamModel: string
  /** The expected number of cached tokens of its next request. */
  readonly cachedTokens: number
}

interface AffinityEntry extends SessionHome {
  readonly until: number
}

export interface AffinityOptions {
  /** Monotonic clock, in ms. */
  readonly now: () => number
  readonly maxSessions?: number
}

const MAX_SESSIONS = 50_000
/** The default lifetime of providers' prompt caches. */
const LIFETIME_MS = 600_000

export class Affinity {
  /** Entries in order of their last answer, oldest first. */
  private readonly homes = new Map<string, AffinityEntry>()

  constructor(private readonly options: AffinityOptions) {}

  homeOf(session: string): SessionHome | undefined {
    const home = this.homes.get(session)
    return home && home.until > this.options.now() ? home : undefined
  }

  noteAnswered(session: string, { target, usage }: { target: Target; usage: Usage }): void {
    const { account, upstreamModel, pricing } = target
    const before = this.homeOf(session)
    const returned = before?.account === account && before.upstreamModel === upstreamModel
    const { maxSessions = MAX_SESSIONS, now } = this.options
    // A session that returned and found nothing cached will find nothing the next time.
    const misses = returned && before.cachedTokens > 0 && (usage.cacheRead ?? 0) === 0
    const cachedTokens = misses || !pricing || !discountsCache(pricing) ? 0 : inputOf(usage)
    this.homes.delete(session)
    this.homes.set(session, { account, upstreamModel, cachedTokens, until: now() + LIFETIME_MS })
    for (const [eldest, { until }] of this.homes) {
      if (until > now() && this.homes.size <= maxSessions) break
      this.homes.delete(eldest)
    }
  }
}

function inputOf({ input = 0, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0 }: Usage): number {
  return input + cacheRead + cacheWrite + cacheWrite1h
}
