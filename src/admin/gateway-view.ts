// What the administration is told of the gateway, as it is shown, and may ask of it. The composition root joins it to
// the rooms.

interface GatewayStatus {
  readonly version: string
  readonly uptime_seconds: number
  /** Whether the simulator answers for every model. */
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
  /** The provider that answers: in demo mode the simulator. */
  readonly provider: string
  readonly model: string
  readonly live: boolean
  /** Whether its price is known; what has none is not called. */
  readonly priced: boolean
}

/** What a check of the configuration in force found. */
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
    /** The ids of the models that the host offers, where they are discovered. */
    readonly models?: readonly string[]
  }[]
}

/** Where a provider's credential comes from. */
export type CredentialSource = "configuration" | "cloud" | "store" | "none" | "not needed"

export interface ProviderState {
  readonly id: string
  readonly type: string
  readonly address: string | null
  readonly protocols: readonly string[]
  readonly credential: CredentialSource
  /** How many of our accounts there can be used. */
  readonly accounts: number
  /** Whether it is an entry of the configuration file or the environment. */
  readonly configured: boolean
  /** Where the credential that is used was found. */
  readonly source: "file" | "environment" | "store" | null
  /** The environment variable that contains the credential. */
  readonly variable: string | null
  /** How it ends; nothing else of it is ever shown. */
  readonly hint: string | null
  /** When one was stored for it, also where the configuration's own is used. */
  readonly stored_at: string | null
}

/** A credential to store and, for an entry that is in no configuration, what else it says. */
export interface ProviderCredentialInput {
  readonly api_key: string
  readonly type?: string
  readonly base_url?: string
  readonly region?: string
  readonly resource?: string
  readonly api_version?: string
}

/** Providers' credentials, as an operator manages them. What goes wrong is told in a GatewayError. */
export interface ProviderAdministration {
  list(): Promise<readonly ProviderState[]>
  /** Seals a credential for a provider and uses it from now on. */
  add(id: string, asked: ProviderCredentialInput): Promise<ProviderState>
  /** Forgets a stored one. */
  remove(id: string): Promise<ProviderState>
  /** Asks a provider whether it takes its credential. */
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
  /** What is wrong with this text as `trivium.yaml`; of the file in force where none is given. */
  configProblems(text?: string): readonly ConfigProblemView[]
  /** Asks every provider whether it takes its credential. */
  check(): Promise<CheckState>
  metrics(): { readonly text: string; readonly type: string }
  readonly providers: ProviderAdministration
}
