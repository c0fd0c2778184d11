// The embedding lane: translates the request to the target's protocol, in as many calls as needed, and returns all
// vectors in the client's protocol.
import type { EmbeddingResponse } from "../../canonical/embedding.ts"
import type { GatewayError } from "../../canonical/gateway-error.ts"
import { parseJsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { UpstreamError } from "../../protocols/contract.ts"
import type { EmbeddingIngress, EmbeddingUpstream } from "../../protocols/embedding-codec.ts"
import type { ProtocolEndpoint, ProviderOperation } from "../../providers/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import { decodeUtf8, encodeByteText, fromByteText } from "../../transport/json/byte-text.ts"
import { spliceJson } from "../../transport/json/json-splice.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import { isLarge, type ReadRequest } from "../read-request.ts"
import { type BatchLimits, joinEmbeddingResponses, likelyTokensOf } from "./embedding-batches.ts"
import { type EncodedEmbeddingBatch, type EncodedEmbeddings, encodeEmbedding } from "./embedding-request.ts"
import type { Attempt, Lane, LaneRequest, StreamPipe, UnaryAnswer } from "./lane.ts"
import { sendParallelCalls } from "./parallel-calls.ts"
import { asUntranslatable, bodyOf } from "./translate-lane.ts"
import { refuseLosses } from "./translate-request.ts"

/** Of hosts of which nothing else is known. */
const USUAL_LIMITS: BatchLimits = { inputs: 2048 }

interface EmbeddingDispatch {
  readonly target: Target
  readonly lane: Lane
}

/** True if this target accepts the request as the client wrote it. */
export function fitsOneCall({ embeds: limits }: ProtocolEndpoint, { reading: { embeds }, text }: ReadRequest): boolean {
  if (!embeds) return true
  const { inputs, tokens = Number.POSITIVE_INFINITY } = limits ?? USUAL_LIMITS
  if (embeds.namesModel || (embeds.hasTokens && limits?.textOnly)) return false
  return embeds.inputs <= inputs && likelyTokensOf(text.length) <= tokens
}

/** Rejects with an UntranslatableError if the request cannot be translated for the target. */
export async function embeddingDispatch(target: Target, context: ExchangeContext): Promise<EmbeddingDispatch> {
  const { request, deps } = context
  const say = async () => newEmbeddingDispatch(target, context)
  return isLarge(request.text.length) ? deps.largeRequestQueue.run(say) : say()
}

function newEmbeddingDispatch(target: Target, { call, deps, request }: ExchangeContext): EmbeddingDispatch {
  const ingress = deps.codecs.embedding?.ingress.get(call.protocol.id)
  const upstream = deps.codecs.embedding?.upstream.get(target.protocol)
  if (!ingress || !upstream) throw new Error(`no translation from ${call.protocol.id} to ${target.protocol}`)
  const isStrict = request.reading.routing.strict || call.caller.strict
  let encoded: EncodedEmbeddings
  try {
    encoded = encodeEmbedding(ingress.decodeRequest(bodyOf(request), call.envelope), {
      upstream,
      model: target.upstreamModel,
      limits: target.endpoint.embeds ?? USUAL_LIMITS,
      places: ingress.settingPaths(request.reading.operation),
    })
    if (isStrict) refuseLosses(encoded.losses)
  } catch (thrown) {
    throw asUntranslatable(thrown)
  }
  const lane = new EmbeddingLane(encoded, { ingress, upstream }, target)
  return { target: lane.target, lane }
}

interface EmbeddingCodecPair {
  readonly ingress: EmbeddingIngress
  readonly upstream: EmbeddingUpstream
}

class EmbeddingLane implements Lane {
  /** The target, with an endpoint that makes all calls at once. */
  readonly target: Target
  private readonly errand: ProviderOperation
  private readonly responses: EmbeddingResponse[] = []

  constructor(
    private readonly encoded: EncodedEmbeddings,
    private readonly halves: EmbeddingCodecPair,
    target: Target,
  ) {
    const { endpoint, upstreamModel: model } = target
    const { operation, path, headers } = halves.upstream.operationFor(model)
    this.errand = { operation, model, stream: false, usualPath: path, headers }
    const count = encoded.batches.length
    const calls = { count, body: this.body.bind(this, endpoint), take: this.take.bind(this) }
    this.target =
      count === 1 ? target : { ...target, endpoint: { ...endpoint, send: sendParallelCalls(calls, endpoint.send) } }
  }

  url({ target: { endpoint } }: LaneRequest): string {
    return endpoint.baseUrl + (endpoint.path ? endpoint.path(this.errand) : this.errand.usualPath)
  }

  message({ target: { endpoint } }: LaneRequest) {
    return {
      headers: endpoint.headersWith(this.errand.headers),
      body: this.body(endpoint, 0),
      losses: [...this.encoded.losses],
    }
  }

  answer(bytes: Uint8Array, { request, target }: Attempt): UnaryAnswer | undefined {
    const { batches } = this.encoded
    if (batches.length === 1 && !this.take(0, bytes)) return undefined
    // Where a call of several was not answered well, these are its bytes.
    if (batches.some((_, index) => !this.responses[index])) return undefined
    const response = joinEmbeddingResponses(this.responses)
    const context = { model: target.model.id, operation: request.reading.operation }
    const encode = (usage: Usage | undefined) =>
      JSON.stringify(this.halves.ingress.encodeResponse({ ...response, ...(usage && { usage }) }, context))
    const { usage } = response
    return { body: encode(usage), ...(usage && { usage }), transcript: () => "", withUsage: encode }
  }

  openPipe(): StreamPipe {
    throw new Error("vectors are not streamed")
  }

  decodeError(error: UpstreamError): GatewayError {
    return this.halves.upstream.decodeError(error)
  }

  private body(endpoint: ProtocolEndpoint, index: number): Uint8Array<ArrayBuffer> {
    const text = JSON.stringify(this.batch(index).body)
    const edits = endpoint.edits?.(this.errand) ?? []
    return edits.length === 0 ? Buffer.from(text) : fromByteText(spliceJson(encodeByteText(text), edits))
  }

  /** A vector for each input, or it is no answer. */
  private take(index: number, bytes: Uint8Array): boolean {
    const body = parseJsonObject(decodeUtf8(bytes))
    const response = body && this.halves.upstream.decodeResponse(body)
    if (!response || response.vectors.length !== this.batch(index).inputs) return false
    this.responses[index] = response
    return true
  }

  private batch(index: number): EncodedEmbeddingBatch {
    const batch = this.encoded.batches[index]
    if (!batch) throw new Error(`there is no call ${index}`)
    return batch
  }
}
