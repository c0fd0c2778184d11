// Joins the administration to the gateway it looks after; a part of the composition root.
import { adminKey, isSameKey } from "./accounts/admin-key.ts"
import type { Credentials } from "./accounts/credentials.ts"
import { Admin } from "./admin/admin.ts"
import { bookRoutes } from "./admin/book-routes.ts"
import type { Desk } from "./admin/desk.ts"
import { gatewayRoutes } from "./admin/gateway-routes.ts"
import type {
  ConfigProblem,
  CredentialSource,
  GatewayView,
  ModelState,
  ProviderState,
  TargetState,
} from "./admin/house.ts"
import { keyRoutes } from "./admin/key-routes.ts"
import { describe } from "./admin/openapi.ts"
import { type AnyAdminRoute, route } from "./admin/route.ts"
import { suspenseRoutes } from "./admin/suspense-routes.ts"
import { tenantRoutes } from "./admin/tenant-routes.ts"
import type { Pricing } from "./canonical/model.ts"
import type { TargetRow } from "./catalog/catalog.ts"
import type { Config, ProviderSettings } from "./config/config.ts"
import { ConfigError } from "./config/config-error.ts"
import { Secret } from "./config/secret.ts"
import { PlainServer } from "./http/plain-server.ts"
import type { Server } from "./http/server.ts"
import type { Account, Provider } from "./providers/contract.ts"
import type { RoutingTable } from "./routing/plan.ts"

export interface AdministrationOptions {
  readonly config: Config
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly view: GatewayView
  readonly desk: Desk
  readonly version: string
  /** Bodies come in as they do there. */
  readonly server: Server
  readonly onFault: (cause: unknown) => void
}

export function openAdministration(options: AdministrationOptions): PlainServer {
  const { config, environment, server, onFault } = options
  const key = adminKey(config.dataDir, environment)
  const admin = new Admin({
    routes: administrationRoutes(options),
    isAdministrator: (presented) => isSameKey(presented, key),
    readBody: (request, limit) => server.readBody(request, limit),
    onFault,
  })
  return new PlainServer({ ...config.admin, answer: (request, path) => admin.answer(request, path) })
}

/** Every route, with the description of them all. */
export function administrationRoutes({
  desk,
  view,
  version,
}: Pick<AdministrationOptions, "desk" | "view" | "version">): AnyAdminRoute[] {
  const routes: AnyAdminRoute[] = [
    ...keyRoutes(desk.keys),
    ...tenantRoutes(desk.tenants),
    ...bookRoutes(desk.books),
    ...suspenseRoutes(desk.suspense),
    ...gatewayRoutes(view),
  ]
  routes.push(
    route({
      method: "GET",
      path: "/openapi.json",
      who: "anyone",
      bodyLimit: 0,
      summary: "Describe the administration interface.",
      givesText: "application/json",
      handle: () => describe(routes, version),
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

interface ServedBy {
  readonly accounts: readonly Account[]
  /** The model's, where the target has none of its own. */
  readonly pricing: Pricing | undefined
}

function targetState({ provider, model, pricing }: TargetRow, served: ServedBy): TargetState {
  const { accounts } = served
  return {
    provider: accounts[0]?.id ?? provider,
    model,
    live: serves(accounts, model),
    priced: (pricing ?? served.pricing) !== undefined || accounts.some(({ isFree }) => isFree),
  }
}

function serves(accounts: readonly Account[], model: string): boolean {
  return accounts.some(({ lines }) => Object.values(lines).some((line) => line.serves?.(model) !== false))
}

/** What is wrong with a configuration that `read` reads. */
export function problemsOf(read: () => Config): readonly ConfigProblem[] {
  try {
    read()
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems
    throw thrown
  }
}

/** The configuration's providers, those without a credential with the one kept for them, if there is one. */
export class KeptCredentials {
  constructor(
    private readonly credentials: Credentials,
    private readonly known: readonly Provider[],
  ) {}

  join(config: Config): Config {
    const named = config.providers.map((settings) => {
      const kept = hasCredential(settings) ? undefined : this.find(settings)
      return kept ? { ...settings, apiKey: kept } : settings
    })
    const others = this.known.flatMap(({ id }): ProviderSettings[] => {
      if (config.providers.some((settings) => settings.id === id)) return []
      const kept = this.find({ id, type: id })
      return kept ? [{ id, type: id, apiKey: kept }] : []
    })
    return others.length === 0 && named.every((each, at) => each === config.providers[at])
      ? config
      : { ...config, providers: [...named, ...others] }
  }

  /** False where nobody of this id takes a credential at an address we know. */
  set(id: string, { config, credential }: { config: Config; credential: string }): boolean {
    const settings = this.settings(id, config)
    const address = this.address(settings)
    if (address === undefined || !takesKey(this.provider(settings))) return false
    this.credentials.set(id, { address, credential: new Secret(credential) })
    return true
  }

  remove(id: string): boolean {
    return this.credentials.remove(id)
  }

  states(config: Config, { accounts }: Pick<RoutingTable, "accounts">): ProviderState[] {
    const ids = [...new Set([...config.providers.map(({ id }) => id), ...this.known.map(({ id }) => id)])]
    return ids.map((id) => {
      const settings = this.settings(id, config)
      const provider = this.provider(settings)
      const own = accounts.get(id)?.filter((account) => account.id === id) ?? []
      return {
        id,
        type: settings.type,
        address: this.address(settings) ?? null,
        protocols: Object.keys(provider?.speaks ?? {}),
        credential: this.source(settings, provider),
        accounts: own.length,
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

  private settings(id: string, config: Config): ProviderSettings {
    return config.providers.find((settings) => settings.id === id) ?? { id, type: id }
  }
}

function takesKey(provider: Provider | undefined): boolean {
  const members = provider?.form?.members ?? { api_key: {} }
  return provider?.needsCredential === true && members.api_key !== undefined
}

function hasCredential(settings: ProviderSettings): boolean {
  const { apiKey, apiKeys, accessKeyId, credentialsFile, clientSecret } = settings
  return (apiKey ?? apiKeys ?? accessKeyId ?? credentialsFile ?? clientSecret) !== undefined
}
