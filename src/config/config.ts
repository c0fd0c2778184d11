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

/** A model beside the bundled ones, or what shall be different in one of them. */
export interface ModelSettings {
  /** `<provider>/<model-name>`; unique among all ids and aliases of the file. */
  readonly id: string
  readonly aliases?: readonly string[]
  readonly kind?: "chat" | "embedding" | "image"
  readonly displayName?: string
  readonly version?: string
  readonly contextWindow?: number
  readonly maxInputTokens?: number
  readonly maxOutputTokens?: number
  readonly modalities?: { readonly input: readonly Modality[]; readonly output: readonly Modality[] }
  readonly capabilities?: readonly Capability[]
  readonly reasoning?: boolean
  /** From 0 to 100. */
  readonly quality?: number
  readonly pricing?: PricingSettings
  /** Only an entry for a bundled model does without. */
  readonly targets?: readonly TargetSettings[]
}

type Modality = "text" | "image" | "audio" | "video" | "pdf" | "embedding"
type Capability = "tools" | "json_schema" | "reasoning" | "prompt_caching" | "web_search" | "computer_use"

/** Decimal strings: USD per million tokens, `perImage` per image. */
interface PriceSettings {
  readonly input?: string
  readonly output?: string
  readonly cacheRead?: string
  readonly cacheWrite?: string
  readonly cacheWrite1h?: string
  readonly reasoning?: string
  readonly audioInput?: string
  readonly audioOutput?: string
  readonly imageInput?: string
  readonly imageOutput?: string
  readonly perImage?: string
}

export interface PricingSettings extends PriceSettings {
  /** Smallest first. */
  readonly tiers?: readonly (PriceSettings & { readonly aboveInputTokens: number })[]
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
  /** Where it is not the model's. */
  readonly pricing?: PricingSettings
}
