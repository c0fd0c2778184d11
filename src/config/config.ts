// The configuration as the rest of the gateway uses it: complete, valid and deeply frozen. A reload makes a new one.
import type { CredentialFile } from "./credential-file.ts"
import type { Secret } from "./secret.ts"

export interface GatewayConfig {
  readonly server: ServerSettings
  /** The address of the administration: the first of these ports that is free. */
  readonly admin: { readonly host: string; readonly ports: readonly number[] }
  /** Absolute path of the folder for everything that the gateway writes. */
  readonly dataDir: string
  /** Absolute path of the SQLite file. */
  readonly storePath: string
  /** Hours after which amounts that a killed gateway left in suspense are returned. */
  readonly ledger: { readonly suspenseHours: number }
  readonly providers: readonly ProviderSettings[]
  readonly models: readonly ModelSettings[]
  readonly groups: readonly GroupSettings[]
  readonly defaults: DefaultSettings
  readonly upstream: UpstreamSettings
  /** True if the gateway fetches files at callers' URLs for providers that accept them only inline. */
  readonly media: { readonly fetch: boolean }
  /** The destination of traces; absent, there are none. */
  readonly traces?: TracesSettings
  /** The files that credentials were read from. */
  readonly credentialFiles: readonly CredentialFile[]
}

export interface DefaultSettings {
  /** The default limit of keys; null is no limit. */
  readonly requestsPerMinute: number | null
  /** The default routing strategy. */
  readonly routing?: StrategySetting
  /** The model for image requests that name none. */
  readonly imageModel?: string
}

/** Settings of connections to providers. */
export interface UpstreamSettings {
  /**
   * `strict`: every tenant has its own connections. `shared`: a connection that was silent for a while may serve
   * another tenant.
   */
  readonly isolation: "shared" | "strict"
}

type StrategySetting = "cost" | "latency" | "quality"

/** A model whose targets are other models. */
export interface GroupSettings {
  /** `<provider>/<model-name>`; unique among all ids and aliases. */
  readonly id: string
  /** Ids of bundled models or of models of the file. */
  readonly models: readonly string[]
  /** The default strategy of the group. */
  readonly routing?: StrategySetting
}

export interface TracesSettings {
  /** The address that batches of spans are posted to. */
  readonly url: string
  readonly headers: Readonly<Record<string, Secret>>
  /** The share of exchanges that are traced, from 0 to 1. */
  readonly sample: number
  readonly serviceName: string
}

interface ServerSettings {
  readonly host: string
  /** 0 lets the system choose a free port. */
  readonly port: number
  /** Origins whose pages may call from a browser; `*` is any. */
  readonly cors: readonly string[]
  /** Addresses or ranges whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  readonly maxInFlight: number
  /** Seconds for which an idle client connection is kept. */
  readonly idleTimeout: number
  /** Limit of client connections; beyond it, the connection idle longest is closed for a new one. */
  readonly maxConnections: number
}

export const LIMIT_MEMBERS = ["max_tokens", "max_completion_tokens"] as const
type LimitMember = (typeof LIMIT_MEMBERS)[number]

export interface ProviderSettings {
  readonly id: string
  /** A known provider's id, or `openai-compatible`. */
  readonly type: string
  /** Without trailing slash, query, fragment or user info. */
  readonly baseUrl?: string
  /** The protocols to use, the preferred one first; by default those of its type. */
  readonly protocols?: readonly string[]
  /** The member of chat completions for the output limit, if it differs from the type's. */
  readonly limitMember?: LimitMember
  /** True, the default, if callers' identifiers are salted per tenant. */
  readonly saltIdentifiers?: boolean
  /** True if its models are discovered from its own listing; absent, as its type does. */
  readonly discover?: boolean
  readonly apiKey?: Secret
  /** Each key is an account. Excludes `apiKey`. */
  readonly apiKeys?: readonly Secret[]
  // Only some types take the following members; see AccountForm.
  readonly resource?: string
  readonly apiVersion?: string
  readonly region?: string
  readonly accessKeyId?: Secret
  readonly secretAccessKey?: Secret
  readonly sessionToken?: Secret
  readonly project?: string
  readonly location?: string
  /** The content of the file. */
  readonly credentialsFile?: GoogleCredentials
  readonly tenantId?: string
  readonly clientId?: string
  readonly clientSecret?: Secret
  /** The address of Entra's token endpoint, without trailing slash. */
  readonly authorityHost?: string
  /** For an entry without a credential, the variables that locate the cloud's, by name. */
  readonly ambient?: Readonly<Record<string, Secret>>
}

/** A Google credential file. */
export type GoogleCredentials = ServiceAccount | ExternalAccount | AuthorizedUser

/** A service account's key. */
export interface ServiceAccount {
  readonly type: "service_account"
  /** The absolute path of the file. */
  readonly file: string
  readonly clientEmail: string
  /** In PEM. */
  readonly privateKey: Secret
  readonly privateKeyId?: string
  /** The address that exchanges signed statements for tokens. */
  readonly tokenUri: string
}

/** Workload identity: the token of another identity provider is exchanged for one of Google's. */
export interface ExternalAccount {
  readonly type: "external_account"
  readonly file: string
  readonly audience: string
  readonly subjectTokenType: string
  readonly subjectToken: SubjectTokenSource
  readonly tokenUrl: string
  /** Issues the token of a service account for that of the workload. */
  readonly impersonationUrl?: string
  readonly impersonationSeconds?: number
  readonly clientId?: string
  readonly clientSecret?: Secret
}

export type SubjectTokenSource = {
  /** The member of a JSON object that holds the token; absent, the whole text is the token. */
  readonly field?: string
} & ({ readonly file: string } | { readonly url: string; readonly headers: Readonly<Record<string, string>> })

/** A user's own credential, as `gcloud auth application-default login` stores it. */
export interface AuthorizedUser {
  readonly type: "authorized_user"
  readonly file: string
  readonly clientId: string
  readonly clientSecret: Secret
  readonly refreshToken: Secret
  readonly tokenUri: string
}

/** The members of an entry of one type, in addition to `type` and `base_url`. */
export interface AccountForm {
  readonly members: Readonly<Partial<Record<AccountMember, MemberRule>>>
  /** Alternative credentials: one is required, unless the cloud gives one. */
  readonly proofs: readonly CredentialProof[]
  readonly ambient?: AmbientForm
}

/** Credentials that a cloud gives to its workloads: roles, managed identities. */
interface AmbientForm {
  /** The variables that locate them. */
  readonly variables: readonly string[]
  /** Members that select one of several identities. */
  readonly mayHave?: readonly AccountMember[]
  /** Suffixes of the vendor's host names. A `base_url` elsewhere, except on this machine, gets no such credential. */
  readonly hosts: readonly string[]
}

export type AccountMember =
  | "base_url"
  | "api_key"
  | "api_keys"
  | "resource"
  | "api_version"
  | "region"
  | "access_key_id"
  | "secret_access_key"
  | "session_token"
  | "project"
  | "location"
  | "credentials_file"
  | "tenant_id"
  | "client_id"
  | "client_secret"
  | "authority_host"

interface MemberRule {
  /** Variables for a member that the entry leaves out; the first one set counts. */
  readonly variables?: readonly string[]
  /** `for-address`: unless the entry sets a `base_url`. */
  readonly needed?: "always" | "for-address"
}

interface CredentialProof {
  readonly needs: readonly AccountMember[]
  readonly mayHave?: readonly AccountMember[]
}

/** A model in addition to the bundled ones, or changes to one of them. */
export interface ModelSettings {
  /** `<provider>/<model-name>`; unique among all ids and aliases of the file. */
  readonly id: string
  readonly aliases?: readonly string[]
  readonly kind?: "chat" | "embedding" | "image" | "moderation"
  readonly displayName?: string
  readonly version?: string
  readonly contextWindow?: number
  readonly maxInputTokens?: number
  readonly maxOutputTokens?: number
  readonly modalities?: { readonly input: readonly ModalitySetting[]; readonly output: readonly ModalitySetting[] }
  readonly capabilities?: readonly CapabilitySetting[]
  readonly reasoning?: boolean
  /** The reasoning efforts that it accepts. */
  readonly efforts?: readonly ("none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max")[]
  /** The thinking budgets it accepts, in tokens. */
  readonly thinkingTokens?: { readonly min?: number; readonly max?: number }
  /** Rejects temperature and other sampling settings. */
  readonly fixedSampling?: boolean
  /** From 0 to 100. */
  readonly quality?: number
  readonly pricing?: PricingSettings
  /** Optional only for bundled models. */
  readonly targets?: readonly TargetSettings[]
}

type ModalitySetting = "text" | "image" | "audio" | "video" | "pdf" | "embedding"
type CapabilitySetting = "tools" | "json_schema" | "reasoning" | "prompt_caching" | "web_search" | "computer_use"

/** Decimal strings: USD per million tokens, `perImage` and `perRequest` for each. */
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
  readonly perRequest?: string
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
  /** The price there, if not the model's. */
  readonly pricing?: PricingSettings
  /** The precision of the weights there. */
  readonly precision?: "fp32" | "bf16" | "fp16" | "fp8" | "int8" | "fp6" | "fp4" | "int4"
}
