// The simulator's tokens: a word with the space before it. A long run without spaces is several.

const TOKEN = /\s*\S{1,16}|\s+$/gu

/** Joined again, the tokens are the text. */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? []
}

/** Where each token ends, without keeping the tokens of a large text. */
export function* tokenEnds(text: string): Generator<number> {
  const token = new RegExp(TOKEN)
  while (token.test(text)) yield token.lastIndex
}

export function countTokens(text: string): number {
  let count = 0
  for (const _ of tokenEnds(text)) count++
  return count
}
