// Maps image sizes for wires without pixel sizes, which have aspect ratios and a few resolutions.
import type { ImageSize } from "../../canonical/image.ts"
import type { Losses } from "../../canonical/loss.ts"
import { approximated } from "../losses.ts"

type ImageResolution = "1K" | "2K" | "4K"

export interface SupportedShapes {
  /** Such as `16:9`. */
  readonly ratios: readonly string[]
  /** In ascending order; the first is the default. */
  readonly resolutions: readonly [ImageResolution, ...ImageResolution[]]
}

export interface ImageShape {
  readonly ratio: string
  readonly resolution: ImageResolution
}

/** Sides that differ by no more have one shape: vendors' own sizes are rounded. */
const SAME_SHAPE = 0.02
/** The longest side up to which a resolution is chosen, and the side of its square. */
const REACH: Readonly<Record<ImageResolution, number>> = { "1K": 1536, "2K": 3072, "4K": Number.POSITIVE_INFINITY }
const SIDE: Readonly<Record<ImageResolution, number>> = { "1K": 1024, "2K": 2048, "4K": 4096 }

/** The nearest shape; a difference in size is reported as a loss. */
export function shapeOf(size: ImageSize, { ratios, resolutions }: SupportedShapes, losses: Losses): ImageShape {
  const { width, height } = size
  const distance = (ratio: string) => Math.abs(Math.log(width / height) - Math.log(quotientOf(ratio)))
  const ratio = ratios.reduce((nearest, each) => (distance(each) < distance(nearest) ? each : nearest))
  const longest = Math.max(width, height)
  const resolution = resolutions.find((each) => longest <= REACH[each]) ?? resolutions.at(-1) ?? resolutions[0]
  const isExact = width === height && ratio === "1:1" && width === SIDE[resolution]
  if (distance(ratio) > SAME_SHAPE) {
    losses.push(approximated.meaning("size", `the nearest aspect ratio this model supports is ${ratio}`))
  } else if (!isExact) {
    losses.push(approximated.hint("size", `the image is ${ratio}, at this model's resolution`))
  }
  return { ratio, resolution }
}

function quotientOf(ratio: string): number {
  const [width = 1, height = 1] = ratio.split(":").map(Number)
  return width / height
}
