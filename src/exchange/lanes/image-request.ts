// Translates an image request to a target's protocol: the bodies of all calls, and the losses with the caller's paths;
// joins the responses into one. Pure.
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { ImageRequest, ImageResponse, ImageSettings } from "../../canonical/image.ts"
import type { JsonObject } from "../../canonical/json.ts"
import type { Loss, Losses } from "../../canonical/loss.ts"
import { sumUsageOfCalls } from "../../canonical/usage.ts"
import type { ImagePaths, ImageUpstream } from "../../protocols/image-codec.ts"
import { errorAtSettingPath, lossesAtSettingPaths } from "./setting-paths.ts"

export interface EncodedImages {
  /** The body of each call. */
  readonly bodies: readonly JsonObject[]
  readonly losses: readonly Loss[]
}

export interface ImageTarget {
  readonly upstream: ImageUpstream
  /** The model's name there. */
  readonly model: string
  /** True if its responses contain text next to images. */
  readonly speaks: boolean
  /** Of the caller's protocol. */
  readonly places: ImagePaths
}

/** Of one request made in several calls: all of its images are held in memory at once. */
const MAX_IMAGES = 32

export function encodeImages(request: ImageRequest, target: ImageTarget): EncodedImages {
  const { upstream, model, speaks, places } = target
  const losses: Losses = []
  try {
    const counts = countsOf(request.count, upstream.mostAtOnce(model))
    applySettingFates(request.settings, upstream, losses)
    const bodies = counts.map((count) =>
      upstream.encodeRequest({ ...request, count }, { model, returnsText: speaks, losses }),
    )
    return { bodies, losses: lossesAtSettingPaths(losses, places) }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? errorAtSettingPath(thrown, places) : thrown
  }
}

/** How many images each call asks for. */
export function countsOf(count: number, most: number): number[] {
  if (count <= most) return [count]
  if (count > MAX_IMAGES) throw tooManyImagesError(count)
  const calls = Math.ceil(count / most)
  return Array.from({ length: calls }, (_, index) => Math.min(most, count - index * most))
}

function tooManyImagesError(count: number): GatewayError {
  const message = `\`count\` asks for ${count} images, and this model's provider generates at most ${MAX_IMAGES} per request. Ask for fewer.`
  return new GatewayError("invalid_parameter", message, { param: "count" })
}

function applySettingFates(settings: ImageSettings, { fates }: ImageUpstream, losses: Losses): void {
  for (const name of Object.keys(settings) as (keyof ImageSettings)[]) {
    const { fate, note } = fates[name]
    if (isUsual(name, settings)) continue
    if (fate === "refused") {
      const message = `\`${name}\` is not supported by this model's provider: ${note}.`
      throw new GatewayError("unsupported_parameter", message, { param: name })
    }
    if (fate === "dropped") {
      losses.push({ path: name, weight: name === "endUser" ? "hint" : "meaning", how: "dropped", why: note })
    }
  }
}

/** Dropping a setting that equals the default loses nothing. */
function isUsual(name: keyof ImageSettings, { background, quality }: ImageSettings): boolean {
  return (name === "background" && background === "opaque") || (name === "quality" && quality === "standard")
}

/** Joins the responses of all calls. Usage is known only if every call reports it. */
export function joinImageResponses(responses: readonly ImageResponse[]): ImageResponse {
  const usage = sumUsageOfCalls(responses)
  const [first] = responses
  return {
    images: responses.flatMap(({ images }) => images),
    ...(usage && { usage }),
    ...(responses.some(({ isFiltered }) => isFiltered) && { isFiltered: true }),
    ...(first?.extra && { extra: first.extra }),
  }
}
