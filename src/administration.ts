// Joins the administration to the gateway it looks after; a part of the composition root.
import { findOrCreateAdminKey, isSameKey } from "./access/secrets/admin-key.ts"
import type { StoredCredential, StoredCredentials } from "./access/secrets/stored-credentials.ts"
import { AdminInterface } from "./admin/admin-interface.ts"
import { describeAdministration } from "./admin/admin-openapi.ts"
import { type AnyAdminRoute, adminRoute } from "./admin/admin-route.ts"
import { gatewayRoutes } from "./admin/gateway-routes.ts"
import type {
  ConfigProblemView,
  CredentialSource,
  GatewayView,
  ModelState,
  ProviderState,
  TargetState,
} from "./admin/gateway-view.ts"
import { keyRoutes } from "./admin/key-routes.ts"
import { ledgerRoutes } from "./admin/ledger-routes.ts"
import { providerRoutes } from "./admin/provider-routes.ts"
import type { AdminService } from "./admin/services/admin-service.ts"
import { suspenseRoutes } from "./admin/suspense-routes.ts"
import { tenantRoutes } from "./admin/tenant-routes.ts"
import type { Pricing } from "./canonical/model.ts"
import type { TargetRow } from "./catalog/catalog.ts"
import type { GatewayConfig, ProviderSettings } from "./config/config.ts"
import { ConfigError } from "./config/config-error.ts"
import type { Secret } from "./config/secret.ts"
import type { GatewayServer } from "./http/gateway-server.ts"
import { PlainServer } from "./http/plain-server.ts"
import type { Provider, ProviderAccount } from "./providers/contract.ts"
import type { RoutingTable } from "./routing/route-plan.ts"

export interface AdministrationOptions {
  readonly config: GatewayConfig
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly view: GatewayView
  readonly adminService: AdminService
  readonly version: string
  /** Bodies come in as they do there. */
  readonly server: GatewayServer
  readonly onFault: (cause: unknown) => void
}

export function openAdministration(options: AdministrationOptions): PlainServer {
  const { config, environment, server, onFault } = options
  const key = findOrCreateAdminKey(config.dataDir, environment)
  const admin = new AdminInterface({
    routes: administrationRoutes(options),
    isAdministrator: (presented) => isSameKey(presented, key),
    readBody: (request, limit) => server.readBody(request, limit),
    onFault,
  })
  return new PlainServer({ ...config.admin, answer: (request, path) => admin.answer(request, path) })
}

/** Every route, with the description of them all. */
export function administrationRoutes({
  adminService,
  view,
  version,
}: Pick<AdministrationOptions, "adminService" | "view" | "version">): AnyAdminRoute[] {
  const routes: AnyAdminRoute[] = [
    ...keyRoutes(adminService.keys),
    ...tenantRoutes(adminService.tenants),
    ...ledgerRoutes(adminService.ledger),
    ...suspenseRoutes(adminService.suspense),
    ...gatewayRoutes(view),
    ...providerRoutes(view.providers),
  ]
  routes.push(
    adminRoute({
      method: "GET",
      path: "/openapi.json",
      access: "anyone",
      bodyLimit: 0,
      summary: "Describe the administration interface.",
      responseType: "application/json",
      handle: () => describeAdministration(routes, version),
    }),
  )
  return routes
}

export function modelStates({ catalog, accounts }: RoutingTable): ModelState[] {
  return catalog.models.map(({ id, kind, displayName, contextWindow, maxOutputTokens, targets, pricing }) => ({
    id,
    kind,
    name: displayName,
    context_window: contextWindow ?? null,
    max_output_tokens: maxOutputTokens ?? null,
    targets: targets.map((row) => targetState(row, { accounts: accounts.get(row.provider) ?? [], pricing })),
  }))
}

interface ServingAccounts {
  readonly accounts: readonly ProviderAccount[]
  /** The model's, where the target has none of its own. */
  readonly pricing: Pricing | undefined
}

function targetState({ provider, model, pricing }: TargetRow, served: ServingAccounts): TargetState {
  const { accounts } = served
  return {
    provider: accounts[0]?.id ?? provider,
    model,
    live: isServedBy(accounts, model),
    priced: (pricing ?? served.pricing) !== undefined || accounts.some(({ isFree }) => isFree),
  }
}

function isServedBy(accounts: readonly ProviderAccount[], model: string): boolean {
  return accounts.some(({ endpoints }) =>
    Object.values(endpoints).some((endpoint) => endpoint.serves?.(model) !== false),
  )
}

/** What is wrong with a configuration that `read` reads. */
export function problemsOf(read: () => GatewayConfig): readonly ConfigProblemView[] {
  try {
    read()
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems
    throw thrown
  }
}

/**
 * The configuration's providers, those without a credential with the one kept for them, if there is one; and entries that
 * were kept with theirs.
 */
export class ProviderCredentials {
  constructor(
    private readonly credentials: StoredCredentials,
    private readonly known: readonly Provider[],
  ) {}

  withCredentials(config: GatewayConfig): GatewayConfig {
    const named = config.providers.map((settings) => {
      const storedKey = hasCredential(settings) ? undefined : this.find(settings)
      return storedKey ? { ...settings, apiKey: storedKey } : settings
    })
    const others = this.credentials.list().flatMap(({ provider }): ProviderSettings[] => {
      if (config.providers.some(({ id }) => id === provider)) return []
      const settings = this.settings(provider, config)
      const storedKey = this.find(settings)
      return storedKey ? [{ ...settings, apiKey: storedKey }] : []
    })
    return others.length === 0 && named.every((each, at) => each === config.providers[at])
      ? config
      : { ...config, providers: [...named, ...others] }
  }

  get knownTypes(): readonly string[] {
    return this.known.map(({ id }) => id)
  }

  /** Whether entries of this type, which is known, are proven by something else than a key, or by nothing. */
  refusesKey(type: string): boolean {
    const provider = this.provider({ id: type, type })
    if (!provider?.form) return provider?.tokenizer !== undefined
    return provider.form.proofs.every(({ needs }) => needs.join() !== "api_key")
  }

  /** For the address that these settings lead to. What a new `entry` says is kept with its credential. */
  set(settings: ProviderSettings, { credential, entry }: { credential: Secret; entry: boolean }): void {
    const { id, type, ...members } = settings
    const texts = Object.fromEntries(Object.entries(members).filter(([, value]) => typeof value === "string"))
    const isNamed = type === id && Object.keys(texts).length === 0
    const kept = entry && !isNamed ? JSON.stringify({ type, ...texts }) : null
    this.credentials.set(id, { address: this.address(settings) ?? "", credential, settings: kept })
  }

  remove(id: string): boolean {
    return this.credentials.remove(id)
  }

  states(config: GatewayConfig, { accounts }: Pick<RoutingTable, "accounts">): ProviderState[] {
    const stored = new Map(this.credentials.list().map((each) => [each.provider, each]))
    const named = config.providers.map(({ id }) => id)
    const ids = [...new Set([...named, ...stored.keys(), ...this.known.map(({ id }) => id)])]
    return ids.map((id) => {
      const settings = this.settings(id, config)
      const provider = this.provider(settings)
      const own = accounts.get(id)?.filter((account) => account.id === id) ?? []
      return {
        id,
        type: settings.type,
        address: this.address(settings) ?? null,
        protocols: Object.keys(provider?.dialects ?? {}),
        credential: this.source(settings, provider),
        accounts: own.length,
        configured: named.includes(id),
        ...credentialFacts(settings, { stored: stored.get(id), find: () => this.find(settings) }),
      }
    })
  }

  private source(settings: ProviderSettings, provider: Provider | undefined): CredentialSource {
    if (hasCredential(settings)) return "configuration"
    if (this.find(settings)) return "store"
    if (settings.ambient) return "cloud"
    return provider?.needsCredential ? "none" : "not needed"
  }

  private find(settings: ProviderSettings): Secret | undefined {
    const address = this.address(settings)
    return address === undefined ? undefined : this.credentials.find(settings.id, address)
  }

  private address(settings: ProviderSettings): string | undefined {
    const provider = this.provider(settings)
    return settings.baseUrl ?? provider?.baseUrl ?? provider?.addressOf?.(settings)
  }

  private provider({ type }: ProviderSettings): Provider | undefined {
    return this.known.find(({ id }) => id === type)
  }

  private settings(id: string, config: GatewayConfig): ProviderSettings {
    const stored = this.credentials.list().find(({ provider }) => provider === id)?.settings
    const storedSettings = { type: id, ...(stored && (JSON.parse(stored) as Partial<ProviderSettings>)) }
    return config.providers.find((settings) => settings.id === id) ?? { ...storedSettings, id }
  }
}

interface StoredCredentialFacts {
  readonly stored: StoredCredential | undefined
  readonly find: () => Secret | undefined
}

/** The public facts of the credential in use: its source and its last characters. */
function credentialFacts(settings: ProviderSettings, { stored, find }: StoredCredentialFacts) {
  const { apiKey, apiKeys, accessKeyId } = settings
  const isConfigured = hasCredential(settings)
  const secret = isConfigured ? (apiKey ?? apiKeys?.[0] ?? accessKeyId) : find()
  const variable = /^environment variable (\S+)$/.exec(secret?.origin ?? "")?.[1]
  const configuredAt = variable === undefined ? ("file" as const) : ("environment" as const)
  return {
    source: isConfigured ? configuredAt : secret ? ("store" as const) : null,
    variable: (isConfigured && variable) || null,
    hint: secret ? secretHint(secret) : null,
    stored_at: stored ? new Date(stored.setAt).toISOString() : null,
  }
}

const SHOWN_CHARACTERS = 4
/** Of a short one four characters would tell too much. */
const LEAST_LENGTH_SHOWN = 16

function secretHint(secret: Secret): string {
  const text = secret.reveal()
  return text.length < LEAST_LENGTH_SHOWN ? "…" : `…${text.slice(-SHOWN_CHARACTERS)}`
}

function hasCredential(settings: ProviderSettings): boolean {
  const { apiKey, apiKeys, accessKeyId, credentialsFile, clientSecret } = settings
  return (apiKey ?? apiKeys ?? accessKeyId ?? credentialsFile ?? clientSecret) !== undefined
}
