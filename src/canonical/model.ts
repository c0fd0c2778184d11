// The public description of a model, and its prices.

export interface ModelCard {
  /** `<provider>/<model-name>`. */
  readonly id: string
  readonly displayName: string
  /** A label, not a number: `4.5`, `2512`, `2024-11-20`. */
  readonly version: string
  readonly kind: ModelKind
  readonly status: ModelStatus
  /** Unix time in seconds; 0 if unknown. */
  readonly created: number
  /** `2025-04` or `2025-04-30`. */
  readonly knowledgeCutoff?: string
  /** Input and output together. */
  readonly contextWindow?: number
  /** Only if it is less than the context window. */
  readonly maxInputTokens?: number
  readonly maxOutputTokens?: number
  readonly modalities: ModelModalities
  readonly capabilities: readonly ModelCapability[]
  /** The price of every target without its own; absent if unknown. */
  readonly pricing?: Pricing
}

/** The kinds of models: chat, embeddings, images, moderation. */
export const MODEL_KINDS = ["chat", "embedding", "image", "moderation"] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** True if a model of this kind has counted output, not only input. */
export function hasOutput(kind: ModelKind): boolean {
  return kind !== "embedding" && kind !== "moderation"
}

/** `legacy`: superseded, still served. `deprecated`: its author or host has announced its retirement. */
export const MODEL_STATUSES = ["active", "legacy", "deprecated"] as const
export type ModelStatus = (typeof MODEL_STATUSES)[number]

export const MODALITIES = ["text", "image", "audio", "video", "pdf", "embedding"] as const
export type ModelModality = (typeof MODALITIES)[number]

export interface ModelModalities {
  readonly input: readonly ModelModality[]
  readonly output: readonly ModelModality[]
}

export const CAPABILITIES = [
  "tools",
  "json_schema",
  "reasoning",
  "prompt_caching",
  "web_search",
  "computer_use",
] as const
export type ModelCapability = (typeof CAPABILITIES)[number]

/**
 * The priced quantities and their names in files and listings: USD per million tokens; `perImage` and `perRequest` are
 * per unit.
 */
export const PRICE_NAMES = {
  input: "input",
  output: "output",
  cacheRead: "cache_read",
  cacheWrite: "cache_write",
  cacheWrite1h: "cache_write_1h",
  reasoning: "reasoning",
  audioInput: "audio_input",
  audioOutput: "audio_output",
  imageInput: "image_input",
  imageOutput: "image_output",
  perImage: "per_image",
  perRequest: "per_request",
} as const
export type PriceBucket = keyof typeof PRICE_NAMES

/**
 * Decimal strings such as "0.075", because binary fractions lose cents. A bucket without its own price costs as much as
 * the bucket that includes it.
 */
export type BucketPrices = { readonly [Bucket in PriceBucket]?: string }

export type Pricing = BucketPrices & {
  /**
   * In ascending order. A request above a tier's size has that tier's prices as a whole; prices that the tier omits
   * stay.
   */
  readonly tiers?: readonly PriceTier[]
}

/** The pricing of a model that costs nothing. */
export const FREE: Pricing = { input: "0", output: "0" }

export type PriceTier = BucketPrices & { readonly aboveInputTokens: number }
