// Estimates the tokens of an image, document, audio or video by its size, as far as that is known, from the vendors'
// documentation of November 2026.
import type { PixelSize } from "./image-size.ts"
import type { TokenFamily } from "./token-weights.ts"

export interface MediaItem {
  readonly media: "image" | "audio" | "video" | "document"
  /** The size of an image, if its file contains it. */
  readonly size?: PixelSize
  /** Absent if the file is not inline. */
  readonly bytes?: number
  /** True if the caller requests low detail. */
  readonly isRough?: boolean
}

/** For media that is not inline, or has no readable size. */
const UNKNOWN = 1000
/** Typical size per page: pages are not counted, and audio is not decoded. */
const BYTES_PER_PAGE = 50_000
const BYTES_PER_SECOND = { audio: 16_000, video: 125_000 }
const VIDEO_TOKENS_PER_SECOND = 300

interface MediaRates {
  image(size: PixelSize, isRough: boolean): number
  readonly page: number
  /** Per second of audio. */
  readonly second: number
}

const OPENAI: MediaRates = { image: tileTokens, page: 220, second: 10 }
const OTHERS: MediaRates = { image: patchTokens, page: 800, second: 32 }
const RATES: Partial<Record<TokenFamily, MediaRates>> = {
  openai: OPENAI,
  "gpt-oss": OPENAI,
  anthropic: { image: areaTokens, page: 2000, second: 32 },
  google: { image: squareTokens, page: 258, second: 32 },
}

export function mediaTokens({ media, size, bytes, isRough = false }: MediaItem, family: TokenFamily): number {
  const rates = RATES[family] ?? OTHERS
  if (size) return rates.image(size, isRough)
  if (bytes === undefined || media === "image") return UNKNOWN
  if (media === "document") return rates.page * Math.max(1, Math.round(bytes / BYTES_PER_PAGE))
  return (bytes / BYTES_PER_SECOND[media]) * (media === "audio" ? rates.second : VIDEO_TOKENS_PER_SECOND)
}

/** Fitted into 2048 × 2048, then its shorter side into 768, then cut into squares of 512. */
function tileTokens(size: PixelSize, isRough: boolean): number {
  if (isRough) return 85
  const { width, height } = scaleWithin(size, 2048)
  const scale = Math.min(1, 768 / Math.min(width, height))
  return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
}

function areaTokens(size: PixelSize): number {
  const { width, height } = scaleWithin(size, 1568)
  return Math.min(1600, (width * height) / 750)
}

function squareTokens({ width, height }: PixelSize): number {
  if (width <= 384 && height <= 384) return 258
  return 258 * Math.ceil(width / 768) * Math.ceil(height / 768)
}

function patchTokens({ width, height }: PixelSize): number {
  return Math.min(4096, (width * height) / 28 ** 2)
}

function scaleWithin({ width, height }: PixelSize, longest: number): PixelSize {
  const scale = Math.min(1, longest / Math.max(width, height))
  return { width: width * scale, height: height * scale }
}
