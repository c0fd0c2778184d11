// Counts a text's tokens like its model's vendor, as closely as one tokenizer can.
import { type TokenFamily, WEIGHTS } from "./token-weights.ts"

export type { TokenFamily } from "./token-weights.ts"

const AUTHORS: Readonly<Record<string, TokenFamily>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "google",
  mistral: "mistral",
  deepseek: "deepseek",
  meta: "meta",
  alibaba: "alibaba",
  zai: "zai",
}

/** `modelId` is the catalogue's. */
export function familyOf(modelId: string): TokenFamily {
  if (modelId.startsWith("openai/gpt-oss")) return "gpt-oss"
  const [author = ""] = modelId.split("/", 1)
  return Object.hasOwn(AUTHORS, author) ? (AUTHORS[author] ?? "other") : "other"
}

/** Every tokenizer of this kind takes quadratic time on a run without a border; cutting a run adds a few tokens. */
const MAX_RUN = 256
const MAX_BLANK_RUN = 64
const LONG_RUN = new RegExp(`\\S{${MAX_RUN}}|\\s{${MAX_BLANK_RUN}}`, "gu")

/** Counts a piece without long runs. */
export type Tokenizer = (piece: string) => number

/** Cuts the text into pieces without long runs. */
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

/** In the tokenizer's own tokens. */
export function plainTokens(text: string, tokensIn: Tokenizer): number {
  return cutRuns(text).reduce((sum, piece) => sum + tokensIn(piece), 0)
}

export function countTokens(text: string, family: TokenFamily, tokensIn: Tokenizer): number {
  return Math.ceil(plainTokens(text, tokensIn) * WEIGHTS[family].text)
}
