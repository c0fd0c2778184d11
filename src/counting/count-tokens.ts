// Counts a text's tokens the way its model's vendor would, as near as one tokenizer comes.

/** Whose tokens: each family cuts text in its own way, and by how much more or less is known from its reports. */
export type TokenFamily = "openai" | "anthropic" | "google" | "other" | "simulator"

/** Tokens of the family for a token of the tokenizer at hand. */
const FACTORS: Readonly<Record<TokenFamily, number>> = {
  openai: 1,
  anthropic: 1.25,
  google: 1.05,
  other: 1.1,
  simulator: 1,
}

export function familyOf(modelId: string): TokenFamily {
  const [author] = modelId.split("/", 1)
  return author === "openai" || author === "anthropic" || author === "google" ? author : "other"
}

/** Every tokenizer of this kind takes quadratic time on a run without a border; a cut run counts a little more. */
const MAX_RUN = 256
const MAX_BLANK_RUN = 64
const LONG_RUN = new RegExp(`\\S{${MAX_RUN}}|\\s{${MAX_BLANK_RUN}}`, "gu")

/** The text in pieces none of which is a run that would take long. */
export function cutRuns(text: string): string[] {
  const pieces: string[] = []
  let from = 0
  for (const { index, 0: run } of text.matchAll(LONG_RUN)) {
    pieces.push(text.slice(from, index + run.length))
    from = index + run.length
  }
  if (from < text.length) pieces.push(text.slice(from))
  return pieces
}

export function countTokens(text: string, family: TokenFamily, tokensIn: (piece: string) => number): number {
  const counted = cutRuns(text).reduce((sum, piece) => sum + tokensIn(piece), 0)
  return Math.ceil(counted * FACTORS[family])
}
