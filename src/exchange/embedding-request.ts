// What is to be embedded, in the words of a target's wire: the bodies of as many calls as that needs, and what could
// not be said, in the caller's words. Pure.
import type { EmbeddingBatch, EmbeddingRequest, EmbeddingSettings } from "../canonical/embedding.ts"
import { GatewayError } from "../canonical/error.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Loss, Losses } from "../canonical/loss.ts"
import type { EmbeddingPlaces, EmbeddingUpstream } from "../protocols/embedding-codec.ts"
import { lossesInCallersWords, refusalInCallersWords } from "./callers-words.ts"
import { type BatchLimits, batchesOf } from "./embedding-batches.ts"

export interface EncodedRequest {
  readonly batches: readonly EncodedBatch[]
  readonly losses: readonly Loss[]
}

export interface EncodedBatch {
  readonly body: JsonObject
  /** How many vectors are to come of it. */
  readonly inputs: number
}

export interface EmbeddingTarget {
  readonly upstream: EmbeddingUpstream
  /** The model's name there. */
  readonly model: string
  readonly limits: BatchLimits & { readonly textAlone?: boolean }
  /** Of the caller's protocol. */
  readonly places: EmbeddingPlaces
}

/** More for one request would be an attack on a provider. */
const MAX_CALLS = 2048

export function encodeEmbedding(request: EmbeddingRequest, target: EmbeddingTarget): EncodedRequest {
  const { upstream, model, limits, places } = target
  const losses: Losses = []
  try {
    const batches = batchesOf(request, limits)
    if (batches.length > MAX_CALLS) throw tooMany(batches.length)
    if (limits.textAlone && request.inputs.some(({ content }) => content.kind === "tokens")) throw notText()
    const encoded = batches.map((batch) => {
      meetFates(batch, upstream, losses)
      return { body: upstream.encodeRequest(batch, { model, losses }), inputs: batch.inputs.length }
    })
    return { batches: encoded, losses: lossesInCallersWords(losses, places) }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? refusalInCallersWords(thrown, places) : thrown
  }
}

/** What may not be passed over; all else is a hint. */
const MEANT: readonly (keyof EmbeddingSettings)[] = ["dimensions", "task"]

function meetFates({ settings }: EmbeddingBatch, { fates }: EmbeddingUpstream, losses: Losses): void {
  for (const name of Object.keys(settings) as (keyof EmbeddingSettings)[]) {
    const { fate, note } = fates[name]
    if (fate === "refused") {
      throw new GatewayError("unsupported_parameter", `\`${name}\` cannot be told this model's provider: ${note}.`, {
        param: name,
      })
    }
    if (fate === "dropped") {
      losses.push({ path: name, weight: MEANT.includes(name) ? "meaning" : "hint", how: "dropped", why: note })
    }
  }
}

function notText(): GatewayError {
  const message = "`input` holds numbers of tokens, and this model's provider takes text alone. Send the text."
  return new GatewayError("unsupported_parameter", message, { param: "input" })
}

function tooMany(count: number): GatewayError {
  const message = `\`input\` would take ${count} calls to this model's provider, and at most ${MAX_CALLS} are made. Send less at once.`
  return new GatewayError("invalid_parameter", message, { param: "input" })
}
