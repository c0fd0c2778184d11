// One attempt of an explained request: where it would go, what it would cost, and what would be sent there.
import type { JsonObject } from "../canonical/json.ts"
import { usdOfNano } from "../canonical/usd.ts"
import { filesIn } from "../counting/input-bound.ts"
import type { Scores } from "../routing/comparison.ts"
import { expectedCost } from "../routing/expected-cost.ts"
import type { Planned } from "../routing/plan.ts"
import type { House } from "./call.ts"
import { holdFor } from "./hold.ts"
import type { LimitOverruns } from "./limit-overruns.ts"
import { type Rehearsed, rehearse } from "./rehearsal.ts"
import type { ReadRequest } from "./request.ts"
import type { Occasion } from "./translate-lane.ts"

const MAX_BODY_BYTES = 64 * 1024
/** No text has fewer tokens for a byte. */
const LEAST_TOKENS_PER_BYTE = 1 / 16

/** Files at addresses would have to be fetched to know what is sent. */
class UnfetchedError extends Error {
  override readonly name = "UnfetchedError"
}

interface Known {
  readonly scores: Scores | undefined
  readonly occasion: Occasion
}

/** Rejects with an UnsayableError where the target cannot be told the request. */
export async function explainAttempt(attempt: Planned, { scores, occasion }: Known): Promise<JsonObject> {
  const { house, request } = occasion
  const rehearsed = await rehearse(attempt, { ...occasion, house: withoutFetching(house) }).catch(unlessUnfetched)
  const { target = attempt, isRelayed = false } = rehearsed ?? {}
  return {
    model: attempt.model.id,
    provider: attempt.account.id,
    upstream_model: attempt.upstreamModel,
    upstream_protocol: target.protocol,
    health: attempt.health,
    lane: isRelayed ? "relay" : "translate",
    cost: costRange(attempt, { scores, request, overruns: house.overruns }),
    scores: shownScores(scores),
    losses: rehearsed ? rehearsed.losses.map((loss) => ({ ...loss })) : null,
    request: rehearsed ? shownRequest(rehearsed) : { note: UNFETCHED },
  }
}

const UNFETCHED = "The request names files by address. They are fetched when it is sent, and were not now."

function withoutFetching(house: House): House {
  if (!house.fetchMedia) return house
  return { ...house, fetchMedia: () => Promise.reject(new UnfetchedError()) }
}

function unlessUnfetched(thrown: unknown): undefined {
  if (!(thrown instanceof UnfetchedError)) throw thrown
  return undefined
}

interface Costed {
  readonly scores: Scores | undefined
  readonly request: ReadRequest
  readonly overruns: Pick<LimitOverruns, "has">
}

/** In USD: of the input alone, out of a cache; of what is likely; of all that may be put out. Null without a price. */
export function costRange(attempt: Planned, { scores, request, overruns }: Costed) {
  const { pricing, model } = attempt
  if (!pricing || !scores?.cost) return null
  const mostNano = holdFor(request, [attempt], { caller: { strictBalance: true }, overruns }).nano
  const { likely } = scores.cost
  const images = model.kind === "image" ? request.reading.asks.candidates : 0
  const use = { inputTokens: fewestTokens(request.text), outputTokens: 0, images }
  const fresh = expectedCost({ ...use, cachedTokens: 0 }, pricing) ?? likely
  const cached = expectedCost({ ...use, cachedTokens: use.inputTokens }, pricing) ?? likely
  return {
    least: usdOfNano(within(mostNano, Math.min(fresh, cached, likely))),
    likely: usdOfNano(within(mostNano, likely)),
    most: usdOfNano(mostNano),
  }
}

/** Who asks for more than any model puts out pays no more than for all it does. */
function within(mostNano: bigint, nano: number): bigint {
  if (nano >= Number(mostNano)) return mostNano
  return BigInt(Math.ceil(nano))
}

function fewestTokens(text: string): number {
  const files = filesIn(text).reduce((sum, [from, to]) => sum + to - from, 0)
  return Math.floor((text.length - files) * LEAST_TOKENS_PER_BYTE)
}

function shownScores(scores: Scores | undefined): JsonObject {
  const { latency, quality } = scores ?? {}
  return {
    latency: latency
      ? { p50_ms: rounded(latency.p50Ms), p90_ms: rounded(latency.p90Ms), samples: rounded(latency.samples) }
      : null,
    quality: quality ? { score: rounded(quality.score), confidence: rounded(quality.confidence) } : null,
  }
}

/** All of them fade a little with every moment, which says nothing to anybody. */
function rounded(figure: number): number {
  return Math.round(figure * 100) / 100
}

/** The names of headers alone: what they hold proves who we are. */
function shownRequest({ headers, body }: Rehearsed): JsonObject {
  const bytes = body.length
  const isCut = bytes > MAX_BODY_BYTES
  return {
    headers: [...headers.keys()],
    body: beginningOf(body),
    bytes,
    ...(isCut && { note: `The body is cut: these are the first ${MAX_BODY_BYTES} of ${bytes} bytes.` }),
  }
}

function beginningOf(body: Rehearsed["body"]): string {
  if (typeof body === "string") return body.slice(0, MAX_BODY_BYTES)
  // A character that is cut in two is left out.
  return new TextDecoder().decode(body.subarray(0, MAX_BODY_BYTES), { stream: true })
}
