// Remembers prompt prefixes, as providers do, so that usage reports cache reads.
import { createHash } from "node:crypto"
import { countTokens, tokenEnds } from "./tokens.ts"

export interface PromptPiece {
  readonly text: string
  /** The text is an image's data or address: it identifies the image, but its words are not counted. */
  readonly isImage?: true
  /** The caller marks everything up to here for caching: for minutes, or for an hour. */
  readonly mark?: "short" | "long"
}

/** A prompt's tokens; each is in exactly one bucket. */
export interface PromptUsage {
  readonly fresh: number
  readonly read: number
  readonly written: number
  readonly writtenLong: number
}

interface CacheBoundary {
  readonly tokens: number
  readonly key: string
}

const IMAGE_TOKENS = 258
const MAX_KNOWN = 4096
/** Implicit caching applies only to long prompts, in steps of this size (OpenAI's numbers). */
const IMPLICIT_MINIMUM = 1024
const IMPLICIT_STEP = 128

export function pieceTokens({ text, isImage }: PromptPiece): number {
  return isImage ? IMAGE_TOKENS : countTokens(text)
}

export class PromptCache {
  /** Cache keys, least recently used first. */
  readonly #known = new Set<string>()

  /** Anthropic's caching: marked prefixes are written, and read if they were written before. */
  marked(model: string, pieces: readonly PromptPiece[]): PromptUsage {
    const boundaries = pieceBoundaries(model, pieces)
    const total = boundaries.at(-1)?.tokens ?? 0
    const lastMark = pieces.findLastIndex(({ mark }) => mark !== undefined)
    const read = this.#longest(boundaries.slice(0, lastMark + 1))
    const written = { short: 0, long: 0 }
    let upTo = read
    for (const [index, { mark }] of pieces.entries()) {
      const boundary = boundaries[index]
      if (!mark || !boundary) continue
      this.#remember(boundary.key)
      written[mark] += Math.max(0, boundary.tokens - upTo)
      upTo = Math.max(upTo, boundary.tokens)
    }
    return { fresh: total - upTo, read, written: written.short, writtenLong: written.long }
  }

  /** OpenAI's and Google's caching: long prompts are cached automatically, and writing costs nothing extra. */
  implicit(model: string, pieces: readonly PromptPiece[]): PromptUsage {
    const { boundaries, total } = stepBoundaries(model, pieces)
    const read = this.#longest(boundaries)
    for (const { key } of boundaries) this.#remember(key)
    return { fresh: total - read, read, written: 0, writtenLong: 0 }
  }

  #longest(boundaries: readonly CacheBoundary[]): number {
    return boundaries.findLast(({ key }) => this.#known.has(key))?.tokens ?? 0
  }

  #remember(key: string): void {
    this.#known.delete(key)
    this.#known.add(key)
    if (this.#known.size <= MAX_KNOWN) return
    for (const oldest of this.#known) {
      this.#known.delete(oldest)
      return
    }
  }
}

/** Boundaries after every piece. */
function pieceBoundaries(model: string, pieces: readonly PromptPiece[]): CacheBoundary[] {
  const hash = createHash("sha256").update(model)
  let tokens = 0
  return pieces.map((piece) => {
    tokens += pieceTokens(piece)
    hash.update(`\n${piece.text.length}\n${piece.text}`)
    return { tokens, key: hash.copy().digest("base64") }
  })
}

/** Boundaries after every step of tokens, from the minimum length on. */
function stepBoundaries(model: string, pieces: readonly PromptPiece[]) {
  const hash = createHash("sha256").update(model)
  const boundaries: CacheBoundary[] = []
  let total = 0
  const step = (text: string): void => {
    hash.update(text)
    const tokens = total - (total % IMPLICIT_STEP)
    if (tokens >= IMPLICIT_MINIMUM) boundaries.push({ tokens, key: hash.copy().digest("base64") })
  }
  for (const { text, isImage } of pieces) {
    let from = 0
    if (isImage) total += IMAGE_TOKENS
    else {
      for (const end of tokenEnds(text)) {
        total++
        if (total % IMPLICIT_STEP !== 0) continue
        step(text.slice(from, end))
        from = end
      }
    }
    if (isImage) step(text)
    else hash.update(text.slice(from))
    hash.update("\n")
  }
  return { boundaries, total }
}
