// Opens the accounts of a provider: credential, signer and endpoints, prepared once so that calls stay cheap.
import { Secret } from "../config/secret.ts"
import { probe, type SendRequest } from "../transport/http-client.ts"
import type {
  AccountSettings,
  CredentialVerdict,
  ProtocolDialect,
  ProtocolEndpoint,
  Provider,
  ProviderAccount,
} from "./contract.ts"

export interface AccountOptions extends AccountSettings {
  readonly send: SendRequest
  /** Called with the reason if a credential could not be fetched. */
  readonly onCredentialFailure?: ((error: Error) => void) | undefined
}

/** The accounts of one entry in the configuration: one for each key. None if it lacks a credential or an address. */
export function openAccounts(provider: Provider, options: AccountOptions): ProviderAccount[] {
  const { apiKey, apiKeys = apiKey ? [apiKey] : [] } = options
  if (addressOf(provider, options) === undefined) return []
  if (apiKeys.length > 0) return apiKeys.map((key) => openAccount(provider, { ...options, apiKey: key }))
  const { ambient, credentialsFile } = options
  // The file of a workload identity holds no secret, only the location of the token.
  const isFetched = (ambient ?? credentialsFile) !== undefined
  const proven = !provider.needsCredential || isFetched || secretsIn(options).length > 0
  return proven ? [openAccount(provider, options)] : []
}

/** Opens one account; `openAccounts` has checked its settings. */
export function openAccount(provider: Provider, options: AccountOptions): ProviderAccount {
  const { send, onCredentialFailure: onFailure, ...settings } = options
  const baseUrl = addressOf(provider, settings) ?? ""
  const signer = provider.signer?.(settings, { address: baseUrl, onFailure })
  const signed = signer ? signer.sign(send) : send
  const endpoints: Record<string, ProtocolEndpoint> = {}
  for (const protocol of settings.protocols ?? provider.defaultProtocols ?? Object.keys(provider.dialects)) {
    const dialect = provider.dialects[protocol]
    if (!dialect) continue
    const address = endpointAddress(dialect, { provider, settings, baseUrl })
    if (address === undefined) continue
    endpoints[protocol] = openEndpoint(dialect, { settings, baseUrl: address, send: signed })
  }
  const own = secretsIn(settings)
  const [endpoint] = Object.values(endpoints)
  const listModels = listingOf(provider, { settings, baseUrl, endpoint })
  return {
    id: settings.id,
    baseUrl,
    isFree: provider.isFree === true,
    reportsModel: provider.reportsModel === true,
    saltsIdentifiers: settings.saltIdentifiers !== false,
    ...(provider.tokenizer && { tokenizer: provider.tokenizer }),
    endpoints,
    secrets: () => [...own, ...(signer?.minted?.() ?? [])],
    credentialSource: signer?.source ?? originOf(settings.apiKey),
    check: () => signer?.check() ?? (listModels ? checkOffer(listModels) : checkModelList(endpoint)),
    ...(listModels && { listModels }),
  }
}

function addressOf(provider: Provider, settings: AccountSettings): string | undefined {
  return provider.addressOf ? provider.addressOf(settings) : (settings.baseUrl ?? provider.baseUrl)
}

interface ListingPlace {
  readonly settings: AccountSettings
  readonly baseUrl: string
  readonly endpoint: ProtocolEndpoint | undefined
}

function listingOf(
  { discovery }: Provider,
  { settings, baseUrl, endpoint }: ListingPlace,
): ProviderAccount["listModels"] {
  if (!discovery || !endpoint || !(settings.discover ?? discovery.byDefault)) return undefined
  const { list } = discovery
  return () => list({ baseUrl, headers: endpoint.headersWith({}) })
}

interface EndpointContext {
  readonly provider: Provider
  readonly settings: AccountSettings
  readonly baseUrl: string
}

/** Undefined for a protocol with its own address if a custom base address is set: its counterpart there is unknown. */
function endpointAddress(
  { baseUrl: apart }: ProtocolDialect,
  { provider, settings, baseUrl }: EndpointContext,
): string | undefined {
  if (apart === undefined) return baseUrl
  const moved = settings.baseUrl !== undefined && settings.baseUrl !== provider.baseUrl
  if (moved) return undefined
  return typeof apart === "string" ? apart : apart(settings)
}

interface EndpointOptions {
  readonly settings: AccountSettings
  readonly baseUrl: string
  readonly send: SendRequest
}

function openEndpoint(dialect: ProtocolDialect, { settings, baseUrl, send }: EndpointOptions): ProtocolEndpoint {
  const own = {
    "content-type": "application/json",
    accept: "*/*",
    "accept-encoding": "identity",
    "user-agent": "trivium",
    ...dialect.headers(settings.apiKey),
  }
  const { path, edits, serves, embeds, wrap, takesHeaders, takesMembers, streamUsage, callId } = dialect
  const { lacksRemoteServers } = dialect
  const limitMembers = settings.limitMember ? [settings.limitMember] : dialect.limitMembers
  return {
    baseUrl,
    streamUsage,
    ...(limitMembers && { limitMembers }),
    ...(callId && { callId }),
    ...(takesMembers && { takesMembers }),
    ...(lacksRemoteServers && { lacksRemoteServers }),
    send: wrap ? wrap(send) : send,
    headersWith: cacheHeaders(own, takesHeaders),
    ...(serves && { serves }),
    ...(embeds && { embeds }),
    ...(path && { path: (errand) => path(errand, settings) }),
    ...(edits && { edits }),
  }
}

const MAX_REMEMBERED = 100
const NO_HEADERS: Readonly<Record<string, string>> = {}

/** Callers send few different headers, so the merged headers are cached. */
function cacheHeaders(
  own: Readonly<Record<string, string>>,
  takes: ProtocolDialect["takesHeaders"],
): ProtocolEndpoint["headersWith"] {
  const plain = new Headers(own)
  const known = new Map<string, Headers>()
  const last = { others: NO_HEADERS, headers: plain }
  return (others) => {
    if (others === last.others) return last.headers
    const names = Object.keys(others)
    if (names.length === 0) return plain
    const key = names.map((name) => `${name}:${others[name]}`).join("\n")
    last.headers = known.get(key) ?? new Headers({ ...(takes ? selectHeaders(others, takes) : others), ...own })
    last.others = others
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(key, last.headers)
    return last.headers
  }
}

function selectHeaders(
  headers: Readonly<Record<string, string>>,
  takes: NonNullable<ProtocolDialect["takesHeaders"]>,
): Record<string, string> {
  const selected = Object.entries(takes).map(([name, values]): [string, string[]] => [
    name,
    selectValues(headers[name], values),
  ])
  return Object.fromEntries(
    selected.filter(([, values]) => values.length > 0).map(([name, values]) => [name, values.join(",")]),
  )
}

/** The known values of a comma-separated header. */
export function selectValues(header: string | undefined, known: readonly string[]): string[] {
  const values = header?.split(",").map((value) => value.trim()) ?? []
  return values.filter((value) => known.includes(value))
}

/** The origin of a static credential. */
export function originOf(credential: Secret | undefined): string {
  return credential ? (credential.origin ?? "configuration") : "not needed"
}

function secretsIn(settings: AccountSettings): Secret[] {
  const values = Object.values({ ...settings, ...settings.credentialsFile })
  return values.filter((value) => value instanceof Secret)
}

/** Checks that a self-hosted server responds, and lists its models. */
async function checkOffer(listModels: NonNullable<ProviderAccount["listModels"]>): Promise<CredentialVerdict> {
  try {
    const offer = await listModels()
    const { length } = offer.models
    return { verdict: `reachable, offers ${length} ${length === 1 ? "model" : "models"}`, sound: true, offer }
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    return { verdict: /^refused/.test(why) ? why : `not reachable: ${why}`, sound: false }
  }
}

/** Most vendors list their models to every key. */
async function checkModelList(endpoint: ProtocolEndpoint | undefined): Promise<CredentialVerdict> {
  if (!endpoint?.baseUrl.startsWith("http")) return { verdict: "not needed", sound: true }
  const listing = endpoint.path ? endpoint.path(LIST_MODELS) : LIST_MODELS.usualPath
  return probeCredential(endpoint.baseUrl + listing, endpoint.headersWith({}))
}

const LIST_MODELS = { operation: "list-models", model: "", stream: false, usualPath: "/models", headers: {} }

/** Checks a credential with a harmless GET. */
export async function probeCredential(url: string, headers: Headers): Promise<CredentialVerdict> {
  const status = await probe(url, headers)
  if (status === undefined) return { verdict: "unknown: no response from this address", sound: false }
  if (status === 401 || status === 403) return { verdict: `refused (status ${status})`, sound: false }
  return { verdict: status < 400 ? "accepted" : `unknown: its model list returns status ${status}`, sound: true }
}
