// Plans one request: the targets to try, in order, and the excluded ones with the reason. A pure function of the
// request's facts, its routing options, the catalogue, the accounts and a snapshot of their health.
import type { CatalogModel } from "../catalog/catalog.ts"
import type { BreakerState, OutageReason } from "./breaker.ts"
import { CandidateComparison, type CandidateScores, sortByScore } from "./candidate-comparison.ts"
import { CandidateSet, type ExcludedTarget, type RouteCandidate, toExcludedTarget } from "./candidate-set.ts"
import type { PlanInput } from "./plan-input.ts"
import type { RoutingTable, Target } from "./target.ts"
import { weightedRoundRobin } from "./weighted-round-robin.ts"

export type { RoutingTable, Target } from "./target.ts"

/** A target to try. */
export interface PlannedTarget extends Target {
  readonly health: BreakerState
}

export interface RoutePlan {
  readonly attempts: readonly PlannedTarget[]
  /** Targets beyond the attempt limit are listed only in explained plans. */
  readonly excluded: readonly ExcludedTarget[]
  /** The scores of an attempt of this plan. */
  scoresOf(attempt: PlannedTarget): CandidateScores | undefined
}

/** The requested model and five fallbacks. */
const MAX_MODELS = 6
const MAX_TARGETS_PER_MODEL = 3
const MAX_ATTEMPTS = 8

/** The model's available targets for clients of this protocol, best first. */
export function targetsOf(model: CatalogModel, protocol: string, table: RoutingTable): Target[] {
  const input = { protocol, table, rotation: 0, translates: true }
  return weightedRoundRobin(new CandidateSet(model, input).live, input)
}

/**
 * The order of attempts: the targets of the first model, then those of the next. If all targets of a model are out, the
 * least bad of them is tried after all other models have failed.
 */
export function planRoute(models: readonly CatalogModel[], input: PlanInput): RoutePlan {
  const draft = new RoutePlanDraft(input)
  const requested = models.slice(0, MAX_MODELS).map((model) => ({ model, found: new CandidateSet(model, input) }))
  // One attempt is reserved for each later model that has a target to try.
  let later = 0
  for (const { found } of requested) if (found.hasAny) later++
  for (const { model, found } of requested) {
    if (found.hasAny) later--
    draft.add(model, { found, later })
  }
  for (const each of draft.lastResorts) draft.attempts.push(each)
  return draft
}

class RoutePlanDraft implements RoutePlan {
  readonly attempts: RouteCandidate[] = []
  readonly lastResorts: RouteCandidate[] = []
  readonly excluded: ExcludedTarget[] = []
  private readonly comparisons: CandidateComparison[] = []

  constructor(private readonly input: PlanInput) {}

  scoresOf(attempt: PlannedTarget): CandidateScores | undefined {
    for (const comparison of this.comparisons) {
      const candidate = comparison.candidates.find((each) => each === attempt)
      if (candidate) return comparison.scoresOf(candidate)
    }
    return undefined
  }

  add(model: CatalogModel, { found, later }: { found: CandidateSet; later: number }): void {
    const { live, out, excluded } = found
    for (const each of excluded) this.excluded.push(each)
    if (live.length === 0) {
      this.addLastResort(this.withoutPlanned(out))
      return
    }
    this.exclude(out)
    const candidates = this.orderCandidates(live, model)
    const left = MAX_ATTEMPTS - this.attempts.length - this.lastResorts.length - later
    const fresh = this.withoutPlanned(candidates)
    const most = this.input.routingOptions?.allowFallbacks === false ? 1 : MAX_TARGETS_PER_MODEL
    const chosen = takeFirst(fresh, Math.min(most, left))
    for (const each of chosen) this.attempts.push(each)
    if (!this.input.routingOptions?.explain) return
    for (const each of fresh) if (!chosen.includes(each)) this.excluded.push(toExcludedTarget("enough", each))
  }

  /** One target is tried even if it is expected to fail. */
  private addLastResort(out: RouteCandidate[]): void {
    const least = this.leastBad(out)
    if (!least) return
    this.comparisons.push(new CandidateComparison(out, this.input))
    this.lastResorts.push(least)
    this.exclude(out.filter((each) => each !== least))
  }

  /** Failing targets rotate, as each may recover; of rate-limiting ones, the one whose pause ends first. */
  private leastBad(out: RouteCandidate[]): RouteCandidate | undefined {
    const badness = (each: RouteCandidate) => OUTAGE_RANK[outageReason(each, this.now)]
    const least = Math.min(...out.map(badness))
    const alike = out.filter((each) => badness(each) === least)
    if (least <= OUTAGE_RANK.failing) return alike[this.input.rotation % alike.length]
    return alike.toSorted((one, other) => outUntil(one) - outUntil(other))[0]
  }

  private orderCandidates(live: RouteCandidate[], { routing }: CatalogModel): RouteCandidate[] {
    const { routingOptions, table } = this.input
    const candidates = weightedRoundRobin(live, this.input)
    const comparison = new CandidateComparison(candidates, this.input)
    this.comparisons.push(comparison)
    if (candidates.length < 2) return candidates
    const strategy = routingOptions?.strategy ?? routing ?? table.strategy
    // By cost, the session's target comes first only if no other is cheaper; by any other strategy always.
    if (strategy === "cost") moveToFront(candidates, homeIn(candidates))
    if (strategy) comparison.orderBy(strategy)
    if (strategy === "latency") moveToFront(candidates, comparison.unexplored())
    if (strategy !== "cost") moveToFront(candidates, homeIn(candidates))
    if (routingOptions?.order) orderByNames(routingOptions.order, candidates)
    return candidates
  }

  private exclude(out: readonly RouteCandidate[]): void {
    for (const each of out) this.excluded.push(toExcludedTarget(outageReason(each, this.now), each))
  }

  private get now(): number {
    return this.input.health?.now ?? 0
  }

  /** A target that a group and its members, or two names of one model, share is tried once. */
  private withoutPlanned(candidates: RouteCandidate[]): RouteCandidate[] {
    if (this.attempts.length + this.lastResorts.length === 0) return candidates
    const isSame = (one: Target) => (other: Target) =>
      one.account === other.account && one.upstreamModel === other.upstreamModel
    return candidates.filter((each) => !this.attempts.some(isSame(each)) && !this.lastResorts.some(isSame(each)))
  }
}

/**
 * The first `most` candidates. The last of them is another provider's if possible: all accounts of one fail together.
 */
function takeFirst(candidates: readonly RouteCandidate[], most: number): readonly RouteCandidate[] {
  if (candidates.length <= most) return candidates
  const first = candidates.slice(0, most)
  const id = first[0]?.account.id
  if (most < 2 || first.some(({ account }) => account.id !== id)) return first
  const other = candidates.find(({ account }) => account.id !== id)
  return other ? [...first.slice(0, -1), other] : first
}

/** Failing targets come before those that reject our credential: they may recover. */
const OUTAGE_RANK: Readonly<Record<OutageReason, number>> = {
  hanging: 0,
  failing: 0,
  limited: 1,
  "day-quota": 2,
  "spend-cap": 3,
  credential: 4,
}

function outageReason({ knownAccount, known }: RouteCandidate, now: number): OutageReason {
  const isAccounts = knownAccount?.breaker.stateAt(now) === "out"
  return (isAccounts ? knownAccount.breaker.why : known?.breaker.why) ?? "hanging"
}

function outUntil({ knownAccount, known }: RouteCandidate): number {
  return Math.max(knownAccount?.breaker.outUntil ?? 0, known?.breaker.outUntil ?? 0)
}

function homeIn(candidates: readonly RouteCandidate[]): RouteCandidate | undefined {
  return candidates.find(({ isHome }) => isHome)
}

function moveToFront(candidates: RouteCandidate[], chosen: RouteCandidate | undefined): void {
  const index = chosen ? candidates.indexOf(chosen) : -1
  if (!chosen || index <= 0) return
  candidates.splice(index, 1)
  candidates.unshift(chosen)
}

/** Named providers come first, in that order. */
function orderByNames(order: readonly string[], candidates: RouteCandidate[]): void {
  for (const each of candidates) {
    const rank = order.findIndex((id) => id === each.row.provider || id === each.account.id)
    each.score = rank < 0 ? order.length : rank
  }
  sortByScore(candidates)
}
