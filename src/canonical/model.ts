// What a caller may know about a model.

export interface ModelCard {
  /** `<provider>/<model-name>`. */
  readonly id: string
  readonly displayName: string
  /** Unix time in seconds. */
  readonly created: number
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
}
