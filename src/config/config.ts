// The configuration as the rest of the gateway sees it: complete, valid and deeply frozen. A reload makes a new one.
import type { Secret } from "./secret.ts"

export interface Config {
  readonly server: {
    readonly host: string
    /** 0 lets the system choose a free one. */
    readonly port: number
  }
  /** Absolute path of the folder that holds what the gateway writes. */
  readonly dataDir: string
  /** Absolute path of the SQLite file. */
  readonly storePath: string
  readonly providers: readonly ProviderSettings[]
  readonly models: readonly ModelSettings[]
}

export interface ProviderSettings {
  readonly id: string
  /** A known provider's id, or `openai-compatible`. */
  readonly type: string
  /** Without trailing slash, query, fragment or user info. */
  readonly baseUrl?: string
  readonly apiKey?: Secret
}

export interface ModelSettings {
  /** `<provider>/<model-name>`; unique among all ids and aliases. */
  readonly id: string
  readonly aliases: readonly string[]
  readonly kind: "chat"
  readonly displayName?: string
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
  readonly reasoning: boolean
  readonly targets: readonly TargetSettings[]
}

export interface TargetSettings {
  /** The id of a configured provider, or of a known one that has no credential yet. */
  readonly provider: string
  /** The model's name at that provider. */
  readonly model: string
  /** Lower is tried first. */
  readonly priority: number
  /** The share among targets of one priority. */
  readonly weight: number
}
