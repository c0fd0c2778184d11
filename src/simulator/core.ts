// What the simulator says: text that depends on the request alone, in tokens that are its own words.

export interface SimulatedRequest {
  readonly model: string
  /** Everything the caller said, for counting. */
  readonly prompt: string
  /** What the caller said last, for an answer that shows it was heard. */
  readonly lastWords: string
  readonly maxOutputTokens?: number
}

export interface SimulatedAnswer {
  /** The text, cut into tokens. */
  readonly tokens: readonly string[]
  readonly inputTokens: number
  readonly finish: "stop" | "length"
}

const MAX_QUOTED = 200

export function simulate({ model, prompt, lastWords, maxOutputTokens }: SimulatedRequest): SimulatedAnswer {
  const heard = lastWords.length > MAX_QUOTED ? `${lastWords.slice(0, MAX_QUOTED)}…` : lastWords
  const text =
    `This is Trivium's simulator answering in place of ${model}. ` +
    `You said: "${heard}". No provider was called and nothing was charged; ` +
    "configure a provider credential to reach the real model."
  const all = tokenize(text)
  const limit = maxOutputTokens ?? all.length
  return {
    tokens: all.slice(0, limit),
    inputTokens: tokenize(prompt).length,
    finish: limit < all.length ? "length" : "stop",
  }
}

/** A token is a word with the space before it. */
function tokenize(text: string): string[] {
  return text.match(/\s*\S+/g) ?? []
}
