// The simulator's tokens: a word with the space before it; a long run without spaces is cut.

const TOKEN = /\s*\S{1,16}|\s+$/gu

/** Splits a text; the joined tokens are the text again. */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? []
}

/** The end of each token, without keeping the tokens of a large text. */
export function* tokenEnds(text: string): Generator<number> {
  const token = new RegExp(TOKEN)
  while (token.test(text)) yield token.lastIndex
}

export function countTokens(text: string): number {
  let count = 0
  for (const _ of tokenEnds(text)) count++
  return count
}
