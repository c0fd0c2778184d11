// The image lane: translates the request to the target's protocol, in as many calls as needed, and returns all images in
// the form the client requested.
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { DrawnImage, ImageForm, ImageRequest, ImageResponse } from "../../canonical/image.ts"
import { parseJsonObject } from "../../canonical/json.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { UpstreamError } from "../../protocols/contract.ts"
import type { ImageIngress, ImageUpstream } from "../../protocols/image-codec.ts"
import type { ProtocolEndpoint, ProviderOperation } from "../../providers/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { SendRequest } from "../../transport/http-client.ts"
import { decodeUtf8, encodeByteText, fromByteText } from "../../transport/json/byte-text.ts"
import { spliceJson } from "../../transport/json/json-splice.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { ExchangeDeps } from "../exchange-deps.ts"
import { isLarge } from "../read-request.ts"
import { type EncodedImages, encodeImages, joinImageResponses } from "./image-request.ts"
import type { Lane, LaneRequest, StreamPipe, UnaryAnswer } from "./lane.ts"
import { sendParallelCalls } from "./parallel-calls.ts"
import { asUntranslatable, bodyOf } from "./translate-lane.ts"
import { refuseLosses } from "./translate-request.ts"

interface ImageDispatch {
  readonly target: Target
  readonly lane: Lane
}

/** True if this target accepts the request as the client wrote it. */
export function takesImageRequest({ protocol, upstreamModel }: Target, { deps, request }: ExchangeContext): boolean {
  const upstream = deps.codecs.image?.upstream.get(protocol)
  if (!upstream) return true
  const { outputLimits, draws } = request.reading
  return outputLimits.candidates <= upstream.mostAtOnce(upstreamModel) && (!draws || upstream.takesForm(upstreamModel))
}

/** Rejects with an UntranslatableError if the request cannot be translated for the target. */
export async function imageDispatch(target: Target, context: ExchangeContext): Promise<ImageDispatch> {
  const { request, deps } = context
  const say = async () => newImageDispatch(target, context)
  return isLarge(request.text.length) ? deps.largeRequestQueue.run(say) : say()
}

function newImageDispatch(target: Target, { call, deps, request }: ExchangeContext): ImageDispatch {
  const ingress = deps.codecs.image?.ingress.get(call.protocol.id)
  const upstream = deps.codecs.image?.upstream.get(target.protocol)
  if (!ingress || !upstream) throw new Error(`no translation from ${call.protocol.id} to ${target.protocol}`)
  const { model, upstreamModel } = target
  const isStrict = request.reading.routing.strict || call.caller.strict
  try {
    const decoded = ingress.decodeRequest(bodyOf(request))
    const speaks = model.modalities.output.includes("text")
    const encoded = encodeImages(decoded, { upstream, model: upstreamModel, speaks, places: ingress.settingPaths })
    if (isStrict) refuseLosses(encoded.losses)
    const lane = new ImageLane({ request: decoded, encoded, deps }, { ingress, upstream }, target)
    return { target: lane.target, lane }
  } catch (thrown) {
    throw asUntranslatable(thrown)
  }
}

interface ImageOrder {
  readonly request: ImageRequest
  readonly encoded: EncodedImages
  readonly deps: ExchangeDeps
}

interface ImageCodecPair {
  readonly ingress: ImageIngress
  readonly upstream: ImageUpstream
}

class ImageLane implements Lane {
  /** The target, with an endpoint that makes all calls at once. */
  readonly target: Target
  private readonly errand: ProviderOperation
  private readonly losses: Loss[]
  private readonly responses: ImageResponse[] = []

  constructor(
    private readonly order: ImageOrder,
    private readonly halves: ImageCodecPair,
    target: Target,
  ) {
    const { endpoint, upstreamModel: model } = target
    const { operation, path, headers } = halves.upstream.operationFor(model)
    this.errand = { operation, model, stream: false, usualPath: path, headers }
    this.losses = [...order.encoded.losses]
    this.target = { ...target, endpoint: { ...endpoint, send: this.sendAll(endpoint) } }
  }

  url({ target: { endpoint } }: LaneRequest): string {
    return endpoint.baseUrl + (endpoint.path ? endpoint.path(this.errand) : this.errand.usualPath)
  }

  message({ target: { endpoint } }: LaneRequest) {
    return { headers: endpoint.headersWith(this.errand.headers), body: this.body(endpoint, 0), losses: this.losses }
  }

  /** Where a call was not answered well these are its bytes; else they say nothing. */
  answer(): UnaryAnswer | undefined {
    const { encoded, request } = this.order
    if (encoded.bodies.some((_, index) => !this.responses[index])) return undefined
    const response = joinImageResponses(this.responses)
    const { images, usage } = response
    if (images.length === 0) throw noImageError(response)
    const context = { form: request.form, unixTime: Math.floor(Date.now() / 1000) }
    const body = JSON.stringify(this.halves.ingress.encodeResponse(response, context))
    return { body, images: images.length, ...(usage && { usage }), transcript: () => "" }
  }

  openPipe(): StreamPipe {
    throw new Error("images are not streamed")
  }

  decodeError(error: UpstreamError): GatewayError {
    return this.halves.upstream.decodeError(error)
  }

  private sendAll(endpoint: ProtocolEndpoint): SendRequest {
    const count = this.order.encoded.bodies.length
    const each = sendParallelCalls(
      { count, body: this.body.bind(this, endpoint), take: this.take.bind(this) },
      endpoint.send,
    )
    return async (outgoing) => {
      const answer = await each(outgoing)
      if (answer.ok) await this.fetchMissing()
      return answer
    }
  }

  private body(endpoint: ProtocolEndpoint, index: number): Uint8Array<ArrayBuffer> {
    const text = JSON.stringify(this.order.encoded.bodies[index])
    const edits = endpoint.edits?.(this.errand) ?? []
    return edits.length === 0 ? Buffer.from(text) : fromByteText(spliceJson(encodeByteText(text), edits))
  }

  private take(index: number, bytes: Uint8Array): boolean {
    const body = parseJsonObject(decodeUtf8(bytes))
    const response = body && this.halves.upstream.decodeResponse(body)
    if (!response) return false
    this.responses[index] = response
    return true
  }

  /** Bytes for a caller who wants them, of hosts that give an address. What is drawn is paid for, and is not thrown away. */
  private async fetchMissing(): Promise<void> {
    const { request, deps } = this.order
    const addresses = addressesIn(this.responses, request.form)
    if (addresses.length === 0) return
    const fetched = await deps.fetchMedia?.(addresses).catch(() => undefined)
    if (!fetched) {
      const why = "the provider returned a URL, which the gateway did not fetch"
      this.losses.push({ path: this.halves.ingress.settingPaths.form, weight: "meaning", how: "approximated", why })
      return
    }
    const inlined = (image: DrawnImage): DrawnImage => {
      const media = image.source.at === "url" ? fetched.get(image.source.url) : undefined
      return media ? { ...image, source: { at: "inline", ...media } } : image
    }
    for (const [index, response] of this.responses.entries()) {
      this.responses[index] = { ...response, images: response.images.map(inlined) }
    }
  }
}

function addressesIn(responses: readonly ImageResponse[], form: ImageForm | undefined): string[] {
  if (form !== "bytes") return []
  const sources = responses.flatMap(({ images }) => images.map(({ source }) => source))
  return [...new Set(sources.flatMap((source) => (source.at === "url" ? [source.url] : [])))]
}

function noImageError({ isFiltered }: ImageResponse): GatewayError {
  if (isFiltered) {
    const message = "The provider's content policy blocked all images. Rephrase the prompt."
    return new GatewayError("content_refused", message, { owner: "caller", param: "prompt" })
  }
  const message = "The model's response contains no image."
  return new GatewayError("upstream_unavailable", message, { owner: "upstream", upstreamStatus: 502 })
}
