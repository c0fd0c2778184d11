// The view of the gateway that the administration shows. The composition root connects it to the modules.

interface GatewayStatus {
  readonly version: string
  readonly uptime_seconds: number
  /** True if the simulator serves every model. */
  readonly demo: boolean
  readonly in_flight: number
  readonly models: number
}

export interface ModelState {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly context_window: number | null
  readonly max_output_tokens: number | null
  readonly targets: readonly TargetState[]
}

export interface TargetState {
  /** The serving provider: in demo mode the simulator. */
  readonly provider: string
  readonly model: string
  readonly live: boolean
  /** Models without a price cannot be called. */
  readonly priced: boolean
}

/** Result of checking the configuration in force. */
export interface CheckState {
  readonly valid: boolean
  readonly demo: boolean
  readonly sound: boolean
  readonly models: { readonly known: number; readonly callable: number; readonly unpriced: readonly string[] }
  readonly providers: readonly {
    readonly provider: string
    readonly address: string | null
    readonly source: string | null
    readonly verdict: string
    readonly sound: boolean
    /** The ids of the host's models, if they are discovered. */
    readonly models?: readonly string[]
  }[]
}

/** Source of a provider's credential. */
export type CredentialSource = "configuration" | "cloud" | "store" | "none" | "not needed"

export interface ProviderState {
  readonly id: string
  readonly type: string
  readonly address: string | null
  readonly protocols: readonly string[]
  readonly credential: CredentialSource
  /** Number of usable accounts at the provider. */
  readonly accounts: number
  /** True if the configuration file or the environment defines it. */
  readonly configured: boolean
  /** Source of the credential in use. */
  readonly source: "file" | "environment" | "store" | null
  /** The environment variable that contains the credential. */
  readonly variable: string | null
  /** The last characters; the rest is never shown. */
  readonly hint: string | null
  /** Time when a credential was stored, even if the configured one is used. */
  readonly stored_at: string | null
}

/** A credential to store and, for a provider that is not in the configuration, its settings. */
export interface ProviderCredentialInput {
  readonly api_key: string
  readonly type?: string
  readonly base_url?: string
  readonly region?: string
  readonly resource?: string
  readonly api_version?: string
}

/** Management of providers' credentials. Methods throw a GatewayError on failure. */
export interface ProviderAdministration {
  list(): Promise<readonly ProviderState[]>
  /** Seals a provider's credential, stores it and starts using it. */
  add(id: string, input: ProviderCredentialInput): Promise<ProviderState>
  /** Removes a stored credential. */
  remove(id: string): Promise<ProviderState>
  /** Checks that a provider accepts its credential. */
  check(id: string): Promise<Pick<CheckState, "sound" | "providers">>
}

export interface ConfigProblemView {
  readonly path: string
  readonly message: string
  readonly line?: number
  readonly column?: number
}

export interface GatewayView {
  status(): GatewayStatus
  models(): readonly ModelState[]
  /** Problems of this text as `trivium.yaml`, or of the file in force if no text is given. */
  configProblems(text?: string): readonly ConfigProblemView[]
  /** Checks that every provider accepts its credential. */
  check(): Promise<CheckState>
  metrics(): { readonly text: string; readonly type: string }
  readonly providers: ProviderAdministration
}
