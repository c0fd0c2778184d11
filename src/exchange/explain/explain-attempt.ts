// One attempt of an explained request: where it would go, what it would cost, and what would be sent there.
import type { JsonObject } from "../../canonical/json.ts"
import { usdOfNano } from "../../canonical/usd.ts"
import { filesIn } from "../../counting/input-bound.ts"
import type { CandidateScores } from "../../routing/candidate-comparison.ts"
import { expectedCost } from "../../routing/expected-cost.ts"
import type { PlannedTarget } from "../../routing/route-plan.ts"
import type { LimitOverruns } from "../charge/limit-overruns.ts"
import { computeHold } from "../charge/request-hold.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { ExchangeDeps } from "../exchange-deps.ts"
import type { ReadRequest } from "../read-request.ts"
import { type DryRunResult, dryRun } from "./dry-run.ts"

const MAX_BODY_BYTES = 64 * 1024
/** No text has fewer tokens for a byte. */
const LEAST_TOKENS_PER_BYTE = 1 / 16

/** Files at addresses would have to be fetched to know what is sent. */
class MediaNotFetchedError extends Error {
  override readonly name = "UnfetchedError"
}

interface AttemptFacts {
  readonly scores: CandidateScores | undefined
  readonly context: ExchangeContext
}

/** Rejects with an UntranslatableError if the request cannot be translated for the target. */
export async function explainAttempt(attempt: PlannedTarget, { scores, context }: AttemptFacts): Promise<JsonObject> {
  const { deps, request } = context
  const rehearsed = await dryRun(attempt, { ...context, deps: withoutFetching(deps) }).catch(ignoreUnfetched)
  const { target = attempt, isRelayed = false } = rehearsed ?? {}
  return {
    model: attempt.model.id,
    provider: attempt.account.id,
    upstream_model: attempt.upstreamModel,
    upstream_protocol: target.protocol,
    health: attempt.health,
    lane: isRelayed ? "relay" : "translate",
    cost: costRange(attempt, { scores, request, overruns: deps.overruns }),
    scores: toScoresView(scores),
    losses: rehearsed ? rehearsed.losses.map((loss) => ({ ...loss })) : null,
    request: rehearsed ? toRequestView(rehearsed) : { note: UNFETCHED },
  }
}

const UNFETCHED =
  "The request references files by URL. They are fetched when the request is sent, not when it is explained."

function withoutFetching(deps: ExchangeDeps): ExchangeDeps {
  if (!deps.fetchMedia) return deps
  return { ...deps, fetchMedia: () => Promise.reject(new MediaNotFetchedError()) }
}

function ignoreUnfetched(thrown: unknown): undefined {
  if (!(thrown instanceof MediaNotFetchedError)) throw thrown
  return undefined
}

interface CostContext {
  readonly scores: CandidateScores | undefined
  readonly request: ReadRequest
  readonly overruns: Pick<LimitOverruns, "has">
}

/** In USD: of the input alone, out of a cache; of what is likely; of all that may be put out. Null without a price. */
export function costRange(attempt: PlannedTarget, { scores, request, overruns }: CostContext) {
  const { pricing, model } = attempt
  if (!pricing || !scores?.cost) return null
  const mostNano = computeHold(request, [attempt], { caller: { strictBalance: true }, overruns }).nano
  const { likely } = scores.cost
  const images = model.kind === "image" ? request.reading.outputLimits.candidates : 0
  const use = { inputTokens: fewestTokens(request.text), outputTokens: 0, images }
  const fresh = expectedCost({ ...use, cachedTokens: 0 }, pricing) ?? likely
  const cached = expectedCost({ ...use, cachedTokens: use.inputTokens }, pricing) ?? likely
  return {
    least: usdOfNano(clampToMost(mostNano, Math.min(fresh, cached, likely))),
    likely: usdOfNano(clampToMost(mostNano, likely)),
    most: usdOfNano(mostNano),
  }
}

/** Who asks for more than any model puts out pays no more than for all it does. */
function clampToMost(mostNano: bigint, nano: number): bigint {
  if (nano >= Number(mostNano)) return mostNano
  return BigInt(Math.ceil(nano))
}

function fewestTokens(text: string): number {
  const files = filesIn(text).reduce((sum, [from, to]) => sum + to - from, 0)
  return Math.floor((text.length - files) * LEAST_TOKENS_PER_BYTE)
}

function toScoresView(scores: CandidateScores | undefined): JsonObject {
  const { latency, quality } = scores ?? {}
  return {
    latency: latency
      ? {
          p50_ms: roundFigure(latency.p50Ms),
          p90_ms: roundFigure(latency.p90Ms),
          samples: roundFigure(latency.samples),
        }
      : null,
    quality: quality ? { score: roundFigure(quality.score), confidence: roundFigure(quality.confidence) } : null,
  }
}

/** All of them fade a little with every moment, which says nothing to anybody. */
function roundFigure(figure: number): number {
  return Math.round(figure * 100) / 100
}

/** The names of headers alone: what they hold proves who we are. */
function toRequestView({ headers, body }: DryRunResult): JsonObject {
  const bytes = body.length
  const isCut = bytes > MAX_BODY_BYTES
  return {
    headers: [...headers.keys()],
    body: beginningOf(body),
    bytes,
    ...(isCut && { note: `The body is truncated to the first ${MAX_BODY_BYTES} of ${bytes} bytes.` }),
  }
}

function beginningOf(body: DryRunResult["body"]): string {
  if (typeof body === "string") return body.slice(0, MAX_BODY_BYTES)
  // A character that is cut in two is left out.
  return new TextDecoder().decode(body.subarray(0, MAX_BODY_BYTES), { stream: true })
}
