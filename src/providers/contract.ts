// Who speaks what, where. A provider is data, and at most a way to sign; what it says is the protocols' business.
import type { AccountForm, ProviderSettings } from "../config/config.ts"
import type { Secret } from "../config/secret.ts"
import type { SendRequest } from "../transport/http-client.ts"
import type { JsonEdit } from "../transport/json/json-splice.ts"

export interface Provider {
  readonly id: string
  readonly name: string
  /** What the vendor's own client library would be given; absent where each installation has its own. */
  readonly baseUrl?: string
  /** In its place, where the address follows from what an installation says of its account. */
  addressOf?(settings: AccountSettings): string | undefined
  /** The variable the vendor's own tools read the credential from. */
  readonly environmentVariable?: string
  /** Whether a call needs a credential at all. */
  readonly needsCredential: boolean
  /** Whether it says truly which model answered, by names of the catalogue's. */
  readonly reportsModel?: boolean
  /** Does not bill: a model without a price costs nothing there. */
  readonly isFree?: boolean
  /** Whose tokens it counts, where they are not those of the models' authors. */
  readonly tokenizer?: "simulator"
  /** The members of its configuration entries in addition to an address; by default a key. */
  readonly form?: AccountForm
  /** The variable that the vendor's own tools read the address from, as `HOST`, `HOST:PORT` or an address. */
  readonly hostVariable?: string
  /** Its models can be discovered from its own listing. */
  readonly discovery?: ProviderDiscovery
  /** By protocol id; what it speaks best comes first. */
  readonly dialects: Readonly<Record<string, ProtocolDialect>>
  /** The protocols that an installation speaks by default; left out, all. */
  readonly defaultProtocols?: readonly string[]
  /** For credentials that headers made once do not prove; undefined where these settings hold none. */
  signer?(settings: AccountSettings, context: SignerContext): RequestSigner | undefined
}

export interface SignerContext {
  /** The account's base address. */
  readonly address: string
  /** Called with why a credential could not be fetched. */
  readonly onFailure?: ((error: Error) => void) | undefined
}

interface ProviderDiscovery {
  /** Whether an entry's models are discovered although it does not say `discover: true`. */
  readonly byDefault: boolean
  readonly list: ListHostModels
}

/** Asks a host which models it offers. Rejects with an Error whose message is for an operator. */
export type ListHostModels = (host: ListedHost) => Promise<ModelOffer>

export interface ListedHost {
  /** As an OpenAI client would be given it. */
  readonly baseUrl: string
  readonly headers: Headers
}

/** The models that a host offers. */
export interface ModelOffer {
  readonly models: readonly OfferedModel[]
  /** How many more it lists whose names no caller could write. */
  readonly unnameable: number
  /** How many more it lists than are taken. */
  readonly excess: number
}

export interface OfferedModel {
  readonly name: string
  readonly kind: "chat" | "embedding"
  readonly contextWindow?: number
  /** What the host reports that it supports in addition to text. */
  readonly abilities: readonly ("tools" | "vision" | "reasoning")[]
}

/** What is known of one account. */
export type AccountSettings = Omit<ProviderSettings, "type">

/** Of hosts that take the output limit by either member of chat completions; all others are given `max_tokens`. */
export const BOTH_LIMITS: readonly string[] = ["max_completion_tokens", "max_tokens"]

/** What OpenAI's chat completions take (November 2026); a request with any other member is refused there. */
export const OPENAI_CHAT_MEMBERS: ReadonlySet<string> = new Set([
  ...["audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens"],
  ...["max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls"],
  ...["prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
  ...["reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream"],
  ...["stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity"],
  ...["web_search_options"],
])

/** How a provider speaks one protocol. */
export interface ProtocolDialect {
  /** Where this protocol is spoken, if not at the provider's base address. */
  readonly baseUrl?: string | ((settings: AccountSettings) => string | undefined)
  /** Whether usage in a stream must be requested or is always sent. */
  readonly streamUsage: "ask" | "sent"
  /** The members of chat completions by which it takes the output limit, the best first; left out, `max_tokens`. */
  readonly limitMembers?: readonly string[]
  /** What ids of tool calls must look like; left out, as the protocol has them. */
  readonly callId?: RegExp
  /** The members of a request that it takes, where it refuses a request for any other; left out, it takes all. */
  readonly takesMembers?: ReadonlySet<string>
  /** It calls no remote servers, though its protocol has them; left out, it does. */
  readonly lacksRemoteServers?: true
  /** What proves who we are, and what else every call must say. */
  headers(credential: Secret | undefined): Record<string, string>
  /** Of the protocol's own headers those it takes, and of their comma-separated values; left out, all. */
  readonly takesHeaders?: Readonly<Record<string, readonly string[]>>
  /** Whether it serves the model of this name; left out, every one. */
  serves?(model: string): boolean
  /** What it takes in one call to embed; left out, as much as OpenAI does. */
  readonly embeds?: EmbeddingLimits
  /** Where a call goes below the base address, if not where the protocol says. */
  path?(operation: ProviderOperation, settings: AccountSettings): string
  /** Changes of the body in addition to the protocol's own; these win. */
  edits?(operation: ProviderOperation): readonly JsonEdit[]
  /** For calls and answers that stand in another form there: turns one into the protocol's own. */
  wrap?(send: SendRequest): SendRequest
}

export interface EmbeddingLimits {
  readonly inputs: number
  /** Of all inputs together. */
  readonly tokens?: number
  /** Whether it takes no numbers of tokens in the place of text. */
  readonly textOnly?: boolean
}

/** What a call is to do, as far as its path and body depend on it. */
export interface ProviderOperation {
  /** In the protocol's own word. */
  readonly operation: string
  /** The model's name there. */
  readonly model: string
  readonly stream: boolean
  /** Where the protocol would send it. */
  readonly usualPath: string
  /** The protocol's own headers for it. */
  readonly headers: Readonly<Record<string, string>>
}

/** Proves who we are, call by call. */
export interface RequestSigner {
  /** Where the credential comes from, in words for an operator. */
  readonly source: string
  sign(send: SendRequest): SendRequest
  /** Says whether the provider takes the credential. */
  check(): Promise<CredentialVerdict>
  /** What it was given in exchange for the credential, and holds now. */
  minted?(): readonly Secret[]
}

/** What became of a credential, in words for an operator. */
export interface CredentialVerdict {
  readonly verdict: string
  readonly sound: boolean
  /** The models that the host offers, where they are discovered. */
  readonly offer?: ModelOffer
}

/** Our credential at a provider, and the ways to speak to it. */
export interface ProviderAccount {
  readonly id: string
  readonly baseUrl: string
  readonly isFree: boolean
  readonly reportsModel: boolean
  /** Whether callers' identifiers reach it salted per tenant. */
  readonly saltsIdentifiers: boolean
  readonly tokenizer?: Provider["tokenizer"]
  /** By protocol id; what it speaks best comes first. */
  readonly endpoints: Readonly<Record<string, ProtocolEndpoint>>
  /** All its secrets. */
  secrets(): readonly Secret[]
  /** Where its credential comes from, in words for an operator. */
  readonly credentialSource: string
  check(): Promise<CredentialVerdict>
  /** Asks which models are offered there; absent where they are not discovered. Rejects as `ListModels` does. */
  listModels?(): Promise<ModelOffer>
}

/** One protocol at one account, ready to be called. */
export interface ProtocolEndpoint {
  /** What a call's path is appended to. */
  readonly baseUrl: string
  readonly streamUsage: ProtocolDialect["streamUsage"]
  readonly limitMembers?: ProtocolDialect["limitMembers"]
  readonly callId?: ProtocolDialect["callId"]
  readonly takesMembers?: ProtocolDialect["takesMembers"]
  readonly lacksRemoteServers?: ProtocolDialect["lacksRemoteServers"]
  readonly send: SendRequest
  /** The headers of a call: the provider's own, and these of the protocol's. */
  headersWith(others: Readonly<Record<string, string>>): Headers
  serves?(model: string): boolean
  readonly embeds?: EmbeddingLimits
  path?(operation: ProviderOperation): string
  edits?(operation: ProviderOperation): readonly JsonEdit[]
}
