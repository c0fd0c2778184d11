// Translates an embedding request to a target's protocol: the bodies of all calls, and the losses with the caller's
// paths. Pure.
import type { EmbeddingBatch, EmbeddingRequest, EmbeddingSettings } from "../../canonical/embedding.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { JsonObject } from "../../canonical/json.ts"
import type { Loss, Losses } from "../../canonical/loss.ts"
import type { EmbeddingPaths, EmbeddingUpstream } from "../../protocols/embedding-codec.ts"
import { type BatchLimits, splitIntoBatches } from "./embedding-batches.ts"
import { errorAtSettingPath, lossesAtSettingPaths } from "./setting-paths.ts"

export interface EncodedEmbeddings {
  readonly batches: readonly EncodedEmbeddingBatch[]
  readonly losses: readonly Loss[]
}

interface EncodedEmbeddingBatch {
  readonly body: JsonObject
  /** How many vectors are to come of it. */
  readonly inputs: number
}

export interface EmbeddingTarget {
  readonly upstream: EmbeddingUpstream
  /** The model's name there. */
  readonly model: string
  readonly limits: BatchLimits & { readonly textOnly?: boolean }
  /** Of the caller's protocol. */
  readonly places: EmbeddingPaths
}

/** More for one request would be an attack on a provider. */
const MAX_CALLS = 2048

export function encodeEmbedding(request: EmbeddingRequest, target: EmbeddingTarget): EncodedEmbeddings {
  const { upstream, model, limits, places } = target
  const losses: Losses = []
  try {
    const batches = splitIntoBatches(request, limits)
    if (batches.length > MAX_CALLS) throw tooManyCallsError(batches.length)
    if (limits.textOnly && request.inputs.some(({ content }) => content.kind === "tokens")) throw textOnlyError()
    const encoded = batches.map((batch) => {
      applySettingFates(batch, upstream, losses)
      return { body: upstream.encodeRequest(batch, { model, losses }), inputs: batch.inputs.length }
    })
    return { batches: encoded, losses: lossesAtSettingPaths(losses, places) }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? errorAtSettingPath(thrown, places) : thrown
  }
}

/** What may not be passed over; all else is a hint. */
const MEANT: readonly (keyof EmbeddingSettings)[] = ["dimensions", "task"]

function applySettingFates({ settings }: EmbeddingBatch, { fates }: EmbeddingUpstream, losses: Losses): void {
  for (const name of Object.keys(settings) as (keyof EmbeddingSettings)[]) {
    const { fate, note } = fates[name]
    if (fate === "refused") {
      throw new GatewayError(
        "unsupported_parameter",
        `\`${name}\` is not supported by this model's provider: ${note}.`,
        {
          param: name,
        },
      )
    }
    if (fate === "dropped") {
      losses.push({ path: name, weight: MEANT.includes(name) ? "meaning" : "hint", how: "dropped", why: note })
    }
  }
}

function textOnlyError(): GatewayError {
  const message = "`input` holds token ids, and this model's provider accepts only text. Send the text."
  return new GatewayError("unsupported_parameter", message, { param: "input" })
}

function tooManyCallsError(count: number): GatewayError {
  const message = `\`input\` needs ${count} calls to this model's provider, and the gateway makes at most ${MAX_CALLS} per request. Split the input.`
  return new GatewayError("invalid_parameter", message, { param: "input" })
}
