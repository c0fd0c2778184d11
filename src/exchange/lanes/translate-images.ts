// Translates image requests to a target's protocol, in as many calls as needed, and their images back in the form that
// the client requested.
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { DrawnImage, ImageForm, ImageResponse } from "../../canonical/image.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { ExchangeDeps } from "../exchange-deps.ts"
import { batchDispatch, type TranslatedCalls } from "./batch-lane.ts"
import { encodeImages, joinImageResponses } from "./image-request.ts"
import { bodyOf } from "./translate-lane.ts"

/** True if this target accepts the request as the client wrote it. */
export function takesImageRequest({ protocol, upstreamModel }: Target, { deps, request }: ExchangeContext): boolean {
  const upstream = deps.codecs.image?.upstream.get(protocol)
  if (!upstream) return true
  const { outputLimits, draws } = request.reading
  return outputLimits.candidates <= upstream.mostAtOnce(upstreamModel) && (!draws || upstream.takesForm(upstreamModel))
}

/** Rejects with an UntranslatableError if the request cannot be translated for the target. */
export function imageDispatch(target: Target, context: ExchangeContext) {
  return batchDispatch(target, context, () => translateImages(target, context))
}

function translateImages(target: Target, { call, deps, request }: ExchangeContext): TranslatedCalls<ImageResponse> {
  const ingress = deps.codecs.image?.ingress.get(call.protocol.id)
  const upstream = deps.codecs.image?.upstream.get(target.protocol)
  if (!ingress || !upstream) throw new Error(`no translation from ${call.protocol.id} to ${target.protocol}`)
  const { model, upstreamModel } = target
  const { settingPaths: places } = ingress
  const decoded = ingress.decodeRequest(bodyOf(request))
  const speaks = model.modalities.output.includes("text")
  const encoded = encodeImages(decoded, { upstream, model: upstreamModel, speaks, places })
  const losses = [...encoded.losses]
  return {
    operation: upstream.operationFor(upstreamModel),
    bodies: encoded.bodies,
    losses,
    decode: (body) => upstream.decodeResponse(body),
    complete: (responses) => fetchMissing(responses, { form: decoded.form, formPath: places.form, losses, deps }),
    join(responses) {
      const response = joinImageResponses(responses)
      const { images, usage } = response
      if (images.length === 0) throw noImageError(response)
      const context = { form: decoded.form, unixTime: Math.floor(Date.now() / 1000) }
      const body = JSON.stringify(ingress.encodeResponse(response, context))
      return { body, images: images.length, usage, transcript: () => "" }
    },
    decodeError: (error) => upstream.decodeError(error),
  }
}

interface RequestedForm {
  readonly form: ImageForm | undefined
  /** Where the request states it. */
  readonly formPath: string
  readonly losses: Loss[]
  readonly deps: ExchangeDeps
}

/** Fetches images that the caller wants as bytes and the host returned as URLs; they are paid for, and kept either way. */
async function fetchMissing(
  responses: ImageResponse[],
  { form, formPath, losses, deps }: RequestedForm,
): Promise<void> {
  const addresses = addressesIn(responses, form)
  if (addresses.length === 0) return
  const fetched = await deps.fetchMedia?.(addresses).catch(() => undefined)
  if (!fetched) {
    const why = "the provider returned a URL, which the gateway did not fetch"
    losses.push({ path: formPath, weight: "meaning", how: "approximated", why })
    return
  }
  const inlined = (image: DrawnImage): DrawnImage => {
    const media = image.source.at === "url" ? fetched.get(image.source.url) : undefined
    return media ? { ...image, source: { at: "inline", ...media } } : image
  }
  for (const [index, response] of responses.entries()) {
    responses[index] = { ...response, images: response.images.map(inlined) }
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
