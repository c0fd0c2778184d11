// Providers, accounts and endpoints. A provider is data plus, at most, a signer; the protocols know its wire formats.
import type { AccountForm, ProviderSettings } from "../config/config.ts"
import type { Secret } from "../config/secret.ts"
import type { SendRequest } from "../transport/http-client.ts"
import type { JsonEdit } from "../transport/json/json-splice.ts"

export interface Provider {
  readonly id: string
  readonly name: string
  /** The base address that the vendor's own client library takes; absent if each installation has its own. */
  readonly baseUrl?: string
  /** Derives the address from the account's settings, instead of `baseUrl`. */
  addressOf?(settings: AccountSettings): string | undefined
  /** The variable from which the vendor's own tools read the credential. */
  readonly environmentVariable?: string
  /** False if calls need no credential. */
  readonly needsCredential: boolean
  /** True if the `model` of its responses is reliable and uses the catalogue's names. */
  readonly reportsModel?: boolean
  /** Does not bill: a model without a price is free there. */
  readonly isFree?: boolean
  /** The tokenizer it counts with, if not that of the model's author. */
  readonly tokenizer?: "simulator"
  /** The members of its configuration entries in addition to an address; by default a key. */
  readonly form?: AccountForm
  /** The variable from which the vendor's own tools read the address, as `HOST`, `HOST:PORT` or a URL. */
  readonly hostVariable?: string
  /** Discovery of its models from its own listing. */
  readonly discovery?: ProviderDiscovery
  /** Dialects by protocol id; the preferred protocol first. */
  readonly dialects: Readonly<Record<string, ProtocolDialect>>
  /** The protocols that an installation supports by default; absent, all. */
  readonly defaultProtocols?: readonly string[]
  /** Signs calls with credentials that static headers cannot express; undefined if these settings hold none. */
  signer?(settings: AccountSettings, context: SignerContext): RequestSigner | undefined
}

export interface SignerContext {
  /** The account's base address. */
  readonly address: string
  /** Called with the reason if a credential could not be fetched. */
  readonly onFailure?: ((error: Error) => void) | undefined
}

interface ProviderDiscovery {
  /** True if models are discovered without `discover: true` in the entry. */
  readonly byDefault: boolean
  readonly list: ListHostModels
}

/** Lists the models of a host. Rejects with an Error whose message is for an operator. */
export type ListHostModels = (host: ListedHost) => Promise<ModelOffer>

export interface ListedHost {
  /** The base address that an OpenAI client takes. */
  readonly baseUrl: string
  readonly headers: Headers
}

/** The models that a host offers. */
export interface ModelOffer {
  readonly models: readonly OfferedModel[]
  /** The number of further models whose names no request could contain. */
  readonly unnameable: number
  /** The number of further models beyond the limit. */
  readonly excess: number
}

export interface OfferedModel {
  readonly name: string
  readonly kind: "chat" | "embedding"
  readonly contextWindow?: number
  /** Reported capabilities in addition to text. */
  readonly abilities: readonly ("tools" | "vision" | "reasoning")[]
}

/** The settings of one account. */
export type AccountSettings = Omit<ProviderSettings, "type">

/** For hosts that accept either member of chat completions for the output limit; all others get `max_tokens`. */
export const BOTH_LIMITS: readonly string[] = ["max_completion_tokens", "max_tokens"]

/** The members of OpenAI's chat completions (November 2026); OpenAI rejects requests with any other. */
export const OPENAI_CHAT_MEMBERS: ReadonlySet<string> = new Set([
  ...["audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens"],
  ...["max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls"],
  ...["prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
  ...["reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream"],
  ...["stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity"],
  ...["web_search_options"],
])

/** A provider's variant of one protocol. */
export interface ProtocolDialect {
  /** The address of this protocol, if not the provider's base address. */
  readonly baseUrl?: string | ((settings: AccountSettings) => string | undefined)
  /** If usage in a stream must be requested or is always sent. */
  readonly streamUsage: "ask" | "sent"
  /**
   * The members of chat completions that it accepts for the output limit, the preferred one first; absent,
   * `max_tokens`.
   */
  readonly limitMembers?: readonly string[]
  /** The pattern for ids of tool calls; absent, as the protocol defines them. */
  readonly callId?: RegExp
  /** The members of a request that it accepts, if it rejects any other; absent, all. */
  readonly takesMembers?: ReadonlySet<string>
  /** It calls no remote servers, although its protocol has them. */
  readonly lacksRemoteServers?: true
  /** Headers with the credential, and others that every call needs. */
  headers(credential: Secret | undefined): Record<string, string>
  /** The protocol's headers that it accepts, and the accepted comma-separated values; absent, all. */
  readonly takesHeaders?: Readonly<Record<string, readonly string[]>>
  /** False for models that it does not serve; absent, it serves all. */
  serves?(model: string): boolean
  /** Limits of one embedding call; absent, as OpenAI's. */
  readonly embeds?: EmbeddingLimits
  /** The path below the base address, if not the protocol's own. */
  path?(operation: ProviderOperation, settings: AccountSettings): string
  /** Changes of the body in addition to the protocol's own; these take precedence. */
  edits?(operation: ProviderOperation): readonly JsonEdit[]
  /** Converts calls and responses between the host's format and the protocol's. */
  wrap?(send: SendRequest): SendRequest
}

export interface EmbeddingLimits {
  readonly inputs: number
  /** Limit of all inputs together. */
  readonly tokens?: number
  /** True if it does not accept token numbers instead of text. */
  readonly textOnly?: boolean
}

/** The parts of a call that its path and body depend on. */
export interface ProviderOperation {
  /** The protocol's name of the operation. */
  readonly operation: string
  /** The model's name at the provider. */
  readonly model: string
  readonly stream: boolean
  /** The protocol's default path. */
  readonly usualPath: string
  /** The protocol's own headers of the call. */
  readonly headers: Readonly<Record<string, string>>
}

/** Signs or authenticates each call. */
export interface RequestSigner {
  /** The origin of the credential, for an operator. */
  readonly source: string
  sign(send: SendRequest): SendRequest
  /** Checks that the provider accepts the credential. */
  check(): Promise<CredentialVerdict>
  /** Tokens that were issued for the credential and are valid now. */
  minted?(): readonly Secret[]
}

/** The result of a credential check, for an operator. */
export interface CredentialVerdict {
  readonly verdict: string
  readonly sound: boolean
  /** The host's models, if they are discovered. */
  readonly offer?: ModelOffer
}

/** A credential of the gateway at a provider, and its endpoints. */
export interface ProviderAccount {
  readonly id: string
  readonly baseUrl: string
  readonly isFree: boolean
  readonly reportsModel: boolean
  /** True if callers' identifiers are salted per tenant. */
  readonly saltsIdentifiers: boolean
  readonly tokenizer?: Provider["tokenizer"]
  /** Endpoints by protocol id; the preferred protocol first. */
  readonly endpoints: Readonly<Record<string, ProtocolEndpoint>>
  /** All secrets of the account. */
  secrets(): readonly Secret[]
  /** The origin of its credential, for an operator. */
  readonly credentialSource: string
  check(): Promise<CredentialVerdict>
  /** Lists the offered models; absent if they are not discovered. Rejects as `ListHostModels` does. */
  listModels?(): Promise<ModelOffer>
}

/** One protocol at one account. */
export interface ProtocolEndpoint {
  /** The address that a call's path is appended to. */
  readonly baseUrl: string
  readonly streamUsage: ProtocolDialect["streamUsage"]
  readonly limitMembers?: ProtocolDialect["limitMembers"]
  readonly callId?: ProtocolDialect["callId"]
  readonly takesMembers?: ProtocolDialect["takesMembers"]
  readonly lacksRemoteServers?: ProtocolDialect["lacksRemoteServers"]
  readonly send: SendRequest
  /** The headers of a call: the provider's, and these of the protocol's. */
  headersWith(others: Readonly<Record<string, string>>): Headers
  serves?(model: string): boolean
  readonly embeds?: EmbeddingLimits
  path?(operation: ProviderOperation): string
  edits?(operation: ProviderOperation): readonly JsonEdit[]
}
