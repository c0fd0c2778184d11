// Translates embedding requests to a target's protocol, in as many calls as needed, and their vectors back.
import type { EmbeddingResponse } from "../../canonical/embedding.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { ProtocolEndpoint } from "../../providers/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { ReadRequest } from "../read-request.ts"
import { batchDispatch, type TranslatedCalls } from "./batch-lane.ts"
import { type BatchLimits, joinEmbeddingResponses, likelyTokensOf } from "./embedding-batches.ts"
import { encodeEmbedding } from "./embedding-request.ts"
import { bodyOf } from "./translate-lane.ts"

/** Of hosts of which nothing else is known. */
const USUAL_LIMITS: BatchLimits = { inputs: 2048 }

/** True if this target accepts the request as the client wrote it. */
export function fitsOneCall({ embeds: limits }: ProtocolEndpoint, { reading: { embeds }, text }: ReadRequest): boolean {
  if (!embeds) return true
  const { inputs, tokens = Number.POSITIVE_INFINITY } = limits ?? USUAL_LIMITS
  if (embeds.namesModel || (embeds.hasTokens && limits?.textOnly)) return false
  return embeds.inputs <= inputs && likelyTokensOf(text.length) <= tokens
}

/** Rejects with an UntranslatableError if the request cannot be translated for the target. */
export function embeddingDispatch(target: Target, context: ExchangeContext) {
  return batchDispatch(target, context, () => translateEmbedding(target, context))
}

function translateEmbedding(
  target: Target,
  { call, deps, request }: ExchangeContext,
): TranslatedCalls<EmbeddingResponse> {
  const ingress = deps.codecs.embedding?.ingress.get(call.protocol.id)
  const upstream = deps.codecs.embedding?.upstream.get(target.protocol)
  if (!ingress || !upstream) throw new Error(`no translation from ${call.protocol.id} to ${target.protocol}`)
  const { operation } = request.reading
  const { batches, losses } = encodeEmbedding(ingress.decodeRequest(bodyOf(request), call.envelope), {
    upstream,
    model: target.upstreamModel,
    limits: target.endpoint.embeds ?? USUAL_LIMITS,
    places: ingress.settingPaths(operation),
  })
  return {
    operation: upstream.operationFor(target.upstreamModel),
    bodies: batches.map(({ body }) => body),
    losses: [...losses],
    decode(body, index) {
      const response = upstream.decodeResponse(body)
      // A response must hold a vector for each input.
      return response?.vectors.length === batches[index]?.inputs ? response : undefined
    },
    join(responses, { target: { model } }) {
      const response = joinEmbeddingResponses(responses)
      const { usage } = response
      const encode = (counted: Usage | undefined) => {
        const whole = { ...response, ...(counted && { usage: counted }) }
        return JSON.stringify(ingress.encodeResponse(whole, { model: model.id, operation }))
      }
      return { body: encode(usage), usage, transcript: () => "", withUsage: encode }
    },
    decodeError: (error) => upstream.decodeError(error),
  }
}
