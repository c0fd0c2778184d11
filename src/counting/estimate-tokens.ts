// Estimates the tokens that a vendor counts for a whole request: its text and the vendor's overhead.
import { plainTokens, type Tokenizer } from "./count-tokens.ts"
import { type MediaItem, mediaTokens } from "./media-tokens.ts"
import { type TokenFamily, WEIGHTS } from "./token-weights.ts"

/** Parts of a request that cost tokens in addition to its text. Plain data: it crosses threads. */
export interface RequestShape {
  /** The end of each part of the text: tokens do not cross it. */
  readonly borders: readonly number[]
  /** Instructions are one. */
  readonly turns: number
  /** Calls of tools, and their results. */
  readonly calls: number
  readonly tools: number
  readonly toolText: string
  /** The schema of the response. */
  readonly format: string
  /** Length of sealed reasoning, in characters. */
  readonly sealed: number
  readonly media: readonly MediaItem[]
}

interface EstimateInput {
  /** All of it, one part after the other. */
  readonly text: string
  readonly shape: RequestShape
  readonly family: TokenFamily
}

export function estimateTokens({ text, shape, family }: EstimateInput, tokensIn: Tokenizer): number {
  const { turns, calls, tools, toolText, format, sealed, media } = shape
  const weights = WEIGHTS[family]
  const plain = (piece: string) => plainTokens(piece, tokensIn)
  const words = weights.text * partsOf(text, shape.borders).reduce((sum, part) => sum + plain(part), 0)
  const overhead = weights.request + weights.turn * turns + weights.call * calls + weights.sealed * sealed
  const called = tools === 0 ? 0 : weights.tools + weights.tool * tools + weights.toolText * plain(toolText)
  const formed = format === "" ? 0 : weights.format + weights.formatText * plain(format)
  const seen = media.reduce((sum, medium) => sum + mediaTokens(medium, family), 0)
  return Math.ceil(words + overhead + called + formed + seen)
}

function partsOf(text: string, borders: readonly number[]): string[] {
  return borders.map((end, index) => text.slice(borders[index - 1] ?? 0, end))
}
