// Compares candidates by the expected cost, latency and quality of the request there.

import type { RoutingStrategy } from "../canonical/chat/chat-request.ts"
import { hasOutput } from "../canonical/model.ts"
import type { CatalogModel, Precision } from "../catalog/catalog.ts"
import type { RouteCandidate } from "./candidate-set.ts"
import type { DecayedPercentiles } from "./decayed-statistics.ts"
import { expectedCost } from "./expected-cost.ts"
import type { PlanInput, RequestFacts } from "./plan-input.ts"

/** The scores of a candidate. */
export interface CandidateScores {
  /** In nano-USD; absent without a price or if the request's length is unknown. */
  readonly cost?: { readonly likely: number; readonly most: number }
  /** Time to the first token of a stream, else to the end. */
  readonly latency?: { readonly p50Ms: number; readonly p90Ms: number; readonly samples: number }
  /** A score from 0 to 100, and from 0 to 1 the measured share of it. */
  readonly quality: { readonly score: number; readonly confidence: number }
}

/** Output tokens to hold if the caller sets no limit: as many as most responses have. */
const DEFAULT_OUTPUT_TOKENS = 4096
/** The tokens of an image of medium quality, if it is sold by the token. */
const TOKENS_PER_IMAGE = 1056
/** The weight, in answers, of the average output length of all targets. */
const PRIOR_WEIGHT = 8
/** The share of requests that measure a target with too few fresh samples. */
const EXPLORING = { share: 0.05, samples: 6 }
/** The quality of a model without a score. */
const UNKNOWN_QUALITY = 50
const LEAST_SUCCESS = 0.05

const PRECISION_FACTORS: Readonly<Record<Precision, number>> = {
  fp32: 1,
  bf16: 1,
  fp16: 1,
  fp8: 0.98,
  int8: 0.98,
  fp6: 0.96,
  fp4: 0.92,
  int4: 0.92,
}

/** The candidates for one model, or for the members of a group, compared. */
export class CandidateComparison {
  private usual: Map<CatalogModel, number> | undefined

  constructor(
    readonly candidates: RouteCandidate[],
    private readonly input: PlanInput,
  ) {}

  /** Sorts the best first; stable. */
  orderBy(strategy: RoutingStrategy): void {
    for (const each of this.candidates) each.score = this.scoreOf(each, strategy)
    sortByScore(this.candidates)
  }

  /** A candidate without measurements, for a small share of requests; undefined for all others. */
  unexplored(): RouteCandidate | undefined {
    if ((this.input.chance ?? 1) >= EXPLORING.share) return undefined
    let least: RouteCandidate | undefined
    let fewest = EXPLORING.samples
    for (const each of this.candidates) {
      const samples = this.timesOf(each)?.samplesAt(this.now) ?? 0
      if (samples >= fewest) continue
      fewest = samples
      least = each
    }
    return least
  }

  scoresOf(candidate: RouteCandidate): CandidateScores {
    const cost = this.costOf(candidate)
    const times = this.timesOf(candidate)
    const { p50: p50Ms, p90: p90Ms } = times ?? {}
    const isTimed = p50Ms !== undefined && p90Ms !== undefined && times !== undefined
    return {
      ...(cost && { cost }),
      ...(isTimed && { latency: { p50Ms, p90Ms, samples: roundToHundredths(times.samplesAt(this.now)) } }),
      quality: {
        score: this.qualityOf(candidate),
        confidence: roundToHundredths(candidate.known?.confidenceAt(this.now) ?? 0),
      },
    }
  }

  private get now(): number {
    return this.input.health?.now ?? 0
  }

  private scoreOf(candidate: RouteCandidate, strategy: RoutingStrategy): number {
    if (strategy === "cost") return this.likelyCost(candidate) ?? Number.POSITIVE_INFINITY
    return strategy === "latency" ? this.expectedMs(candidate) : -this.qualityOf(candidate)
  }

  private timesOf({ known }: RouteCandidate): DecayedPercentiles | undefined {
    return this.input.facts?.stream ? known?.firstTokenMs : known?.totalMs
  }

  /** A failing target adds the wait for the next one; one silent for longer than usual counts as slow. */
  private expectedMs(candidate: RouteCandidate): number {
    const p50Ms = this.timesOf(candidate)?.p50 ?? Number.POSITIVE_INFINITY
    const silentMs = candidate.known?.silentMsAt(this.now) ?? 0
    return Math.max(p50Ms, silentMs) / Math.max(LEAST_SUCCESS, candidate.known?.success.value ?? 1)
  }

  private qualityOf({ model, row, known }: RouteCandidate): number {
    const factor = row.precision === undefined ? 1 : PRECISION_FACTORS[row.precision]
    return (model.quality ?? UNKNOWN_QUALITY) * factor * (known?.cleanShareAt(this.now) ?? 1)
  }

  private likelyCost(candidate: RouteCandidate): number | undefined {
    const { facts, home } = this.input
    if (!facts || !candidate.pricing) return undefined
    const { inputTokens } = facts
    const most = outputBound(candidate, facts)
    return expectedCost(
      {
        inputTokens,
        cachedTokens: candidate.isHome ? Math.min(inputTokens, home?.cachedTokens ?? 0) : 0,
        outputTokens: Math.min(most, this.usualOutput(candidate.model) ?? most),
        images: imagesOf(candidate, facts),
      },
      candidate.pricing,
    )
  }

  private costOf(candidate: RouteCandidate): CandidateScores["cost"] {
    const { facts } = this.input
    const likely = this.likelyCost(candidate)
    if (!facts || !candidate.pricing || likely === undefined) return undefined
    const outputTokens = outputBound(candidate, facts)
    const dearest = {
      inputTokens: facts.inputTokens,
      cachedTokens: 0,
      outputTokens,
      images: imagesOf(candidate, facts),
    }
    return { likely, most: expectedCost(dearest, candidate.pricing) ?? likely }
  }

  /**
   * The usual output of this model over all providers; with few samples, weighted towards the average of all models.
   */
  private usualOutput(model: CatalogModel): number | undefined {
    const known = this.usual?.get(model)
    if (known !== undefined) return known
    let samplesOwn = 0
    let sumOwn = 0
    let samplesAll = 0
    let sumAll = 0
    for (const each of this.candidates) {
      const mean = each.known?.outputTokens.value
      if (each.known === undefined || mean === undefined) continue
      const samples = each.known.outputTokens.samplesAt(this.now)
      samplesAll += samples
      sumAll += samples * mean
      if (each.model !== model) continue
      samplesOwn += samples
      sumOwn += samples * mean
    }
    if (samplesAll === 0) return undefined
    const usual = (sumOwn + PRIOR_WEIGHT * (sumAll / samplesAll)) / (samplesOwn + PRIOR_WEIGHT)
    this.usual ??= new Map()
    this.usual.set(model, usual)
    return usual
  }
}

/** Decaying values are rounded before they are shown. */
function roundToHundredths(figure: number): number {
  return Math.round(figure * 100) / 100
}

/** Stable, and faster than the built-in for short lists. */
export function sortByScore(candidates: RouteCandidate[]): void {
  for (let sorted = 1; sorted < candidates.length; sorted++) {
    const each = candidates[sorted]
    if (!each) return
    let position = sorted
    for (; position > 0; position--) {
      const before = candidates[position - 1]
      if (!before || before.score <= each.score) break
      candidates[position] = before
    }
    candidates[position] = each
  }
}

function outputBound({ model }: RouteCandidate, { maxOutputTokens, candidates }: RequestFacts): number {
  if (!hasOutput(model.kind)) return 0
  if (model.kind === "image") return candidates * TOKENS_PER_IMAGE
  return (
    (maxOutputTokens ?? Math.min(model.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS, DEFAULT_OUTPUT_TOKENS)) * candidates
  )
}

function imagesOf({ model }: RouteCandidate, { candidates }: RequestFacts): number {
  return model.kind === "image" ? candidates : 0
}
