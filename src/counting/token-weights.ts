// The weights of each model family: per token of the local tokenizer, and per request, turn, call and tool. They were
// fitted on two of three recorded exchanges by the least mean error of the logarithm; test/counting evaluates them on
// the third. OpenAI's weights for text and turns are the published ones.

/** The tokenizer family: each splits text in its own way and adds its own framing. */
export type TokenFamily =
  | "openai"
  | "gpt-oss"
  | "anthropic"
  | "google"
  | "mistral"
  | "deepseek"
  | "meta"
  | "alibaba"
  | "zai"
  | "other"
  | "simulator"

export interface TokenWeights {
  /** For each token of the text. */
  readonly text: number
  /** Once. */
  readonly request: number
  readonly turn: number
  /** For each call of a tool, and for each result. */
  readonly call: number
  /** Added once if there are tools: the instructions for calling them. */
  readonly tools: number
  readonly tool: number
  /** Per token of the tools' definitions. */
  readonly toolText: number
  /** Added if the response must follow a schema. */
  readonly format: number
  /** For each token of that schema. */
  readonly formatText: number
  /** Per character of sealed reasoning, which only its provider can read. */
  readonly sealed: number
}

const NONE = { request: 0, turn: 0, call: 0, tools: 0, tool: 0, format: 0, formatText: 0, sealed: 0 }
/** The smaller families have too few recordings to fit more than the obvious. */
const USUAL = { ...NONE, text: 1, turn: 4, call: 5, toolText: 1, formatText: 1 }

export const WEIGHTS: Readonly<Record<TokenFamily, TokenWeights>> = {
  openai: { ...USUAL, request: 3, call: 3.5, tool: 6, toolText: 0.8, format: 4, formatText: 0.8, sealed: 0.08 },
  "gpt-oss": { ...USUAL, request: 65, call: 1, tool: 10, toolText: 1.1 },
  anthropic: { ...USUAL, text: 1.15, request: 7, turn: 3, tools: 515, format: 125, formatText: 1.3, sealed: 0.05 },
  google: { ...USUAL, request: 1, turn: 0, call: 6, toolText: 1.2, formatText: 0, sealed: 0.15 },
  mistral: { ...USUAL, request: 4, turn: 2, call: 14, tools: 10, tool: 13 },
  deepseek: { ...USUAL, request: 4, turn: 2, call: 15, tools: 320 },
  meta: { ...USUAL, request: 31, tools: 540 },
  alibaba: { ...USUAL, request: 6, turn: 5, tools: 245 },
  zai: { ...USUAL, request: 5, tools: 115, formatText: 0 },
  other: { ...USUAL, text: 1.05, request: 6, tools: 115 },
  // It counts only words.
  simulator: { ...NONE, text: 1, toolText: 1 },
}
