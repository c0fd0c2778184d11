// The models and accounts of one configuration, joined; a part of the composition root.
import { createHash } from "node:crypto"
import { bundledModels } from "./catalog/bundled-models.ts"
import { Catalog, type CatalogModel } from "./catalog/catalog.ts"
import { joinDiscovered } from "./catalog/discovered.ts"
import { joinGroups } from "./catalog/model-groups.ts"
import { joinModels } from "./catalog/model-overrides.ts"
import type { GatewayConfig } from "./config/config.ts"
import { Secret } from "./config/secret.ts"
import { codecs } from "./protocols.ts"
import type { OfferedModel, Provider, ProviderAccount } from "./providers/contract.ts"
import { type AccountOptions, openAccounts } from "./providers/open-account.ts"
import { compatibleProviders, knownProviders as realProviders } from "./providers/provider-table.ts"
import { demoProvider, simulatorProvider } from "./providers/simulator.ts"
import type { RoutingTable } from "./routing/route-plan.ts"
import { splitModelName } from "./simulator/directives.ts"
import { createSimulator } from "./simulator/simulator.ts"
import type { SendRequest } from "./transport/http-client.ts"

export const knownProviders: readonly Provider[] = [...realProviders, simulatorProvider]

/** Every type an entry of the configuration may have. */
export const providerTypes: readonly Provider[] = [...knownProviders, ...compatibleProviders]

const simulator = createSimulator()
const translated = [codecs.upstream, codecs.embedding?.upstream, codecs.image?.upstream].map(
  (some) => new Set(some?.keys()),
)

export interface GatewayTable extends RoutingTable {
  readonly isDemo: boolean
  /** Its accounts by digests of what made them. */
  readonly defined: ReadonlyMap<string, ProviderAccount>
}

export interface GatewayTableOptions {
  readonly send: SendRequest
  /** The table that this one takes the place of. */
  readonly before?: GatewayTable | undefined
  /** The models that were discovered at the host of an account. */
  readonly offeredAt?: ((account: ProviderAccount) => readonly OfferedModel[] | undefined) | undefined
  /** Called with the provider, and why its credential could not be fetched. */
  readonly onCredentialFailure?: (provider: string, error: Error) => void
}

/**
 * The models and accounts of one configuration. Without any account the simulator serves every model, unless the table
 * `before` had one: no change switches the simulator on. Accounts whose definition has not changed are those of `before`.
 */
export function buildTable(config: GatewayConfig, options: GatewayTableOptions): GatewayTable {
  const { send, before, offeredAt, onCredentialFailure } = options
  const accounts = new Map<string, readonly ProviderAccount[]>()
  const opening = new AccountOpener(before)
  for (const settings of config.providers) {
    const provider = providerTypes.find(({ id }) => id === settings.type)
    const isHere = provider === simulatorProvider && settings.baseUrl === undefined
    const reach = isHere ? simulator : send
    const onFailure = (error: Error) => onCredentialFailure?.(settings.id, error)
    const opened = provider ? opening.open(provider, { ...settings, send: reach, onCredentialFailure: onFailure }) : []
    if (opened.length > 0) accounts.set(settings.id, opened)
  }
  const offers = [...accounts].flatMap(([provider, [first]]) => {
    const models = first && offeredAt?.(first)
    return models ? [{ provider, models }] : []
  })
  const models = joinDiscovered(joinModels(bundledModels(), config.models), offers)
  const isDemo = accounts.size === 0 && (before?.isDemo ?? true)
  const isSimulated = (provider: string) => {
    return config.providers.some(({ id, type }) => id === provider && type === simulatorProvider.id)
  }
  const { defined } = opening
  const { routing: strategy, imageModel } = config.defaults
  const joined = { accounts, defined, translated, strategy, imageModel, isDemo }
  const grouped = (all: readonly CatalogModel[]) => joinGroups(all, config.groups)
  if (!isDemo) return { ...joined, catalog: new SimulatedCatalog(grouped(models), isSimulated) }
  const account = opening.open(demoProvider, { id: demoProvider.id, send: simulator })
  for (const { targets } of models) for (const { provider } of targets) accounts.set(provider, account)
  return { ...joined, catalog: new SimulatedCatalog(grouped(models.map(toSimulatedModel)), () => true) }
}

/** Opens the accounts of one table. What is known of an account is known of the object, so that outlives a reload. */
class AccountOpener {
  readonly defined = new Map<string, ProviderAccount>()

  constructor(private readonly before: GatewayTable | undefined) {}

  open(provider: Provider, options: AccountOptions): ProviderAccount[] {
    return openAccounts(provider, options).map((account, index) => {
      const definition = definitionOf(provider, options, index)
      const kept = this.before?.defined.get(definition) ?? account
      this.defined.set(definition, kept)
      return kept
    })
  }
}

/** A digest of all that makes an account: the entry, with this one of its keys. */
function definitionOf({ id }: Provider, options: AccountOptions, index: number): string {
  const { send: _, onCredentialFailure: __, apiKeys, ...settings } = options
  const one = apiKeys ? { ...settings, apiKey: apiKeys[index] } : settings
  return createHash("sha256")
    .update(JSON.stringify([id, toPlainValue(one)]))
    .digest("base64")
}

/** In the same order whichever way it was written, with its secrets. */
function toPlainValue(value: unknown): unknown {
  if (value instanceof Secret) return [value.reveal(), value.origin]
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return members.map(([name, member]) => [name, toPlainValue(member)])
}

/** For the simulator, a model's name may end in a directive such as `@status-503`; other providers never see it. */
class SimulatedCatalog extends Catalog {
  constructor(
    models: readonly CatalogModel[],
    private readonly isSimulated: (provider: string) => boolean,
  ) {
    super(models)
  }

  override find(name: string): CatalogModel | undefined {
    const found = super.find(name)
    if (found) return found
    const { name: bare, suffix } = splitModelName(name)
    const model = suffix === "" ? undefined : super.find(bare)
    const heard = model?.targets.filter(({ provider }) => this.isSimulated(provider)) ?? []
    if (!model || heard.length === 0) return undefined
    return { ...model, targets: heard.map((target) => ({ ...target, model: target.model + suffix })) }
  }
}

/** A model served by the simulator instead of its hosts, with its first target and its usual name. */
function toSimulatedModel(model: CatalogModel): CatalogModel {
  return { ...model, targets: model.targets.slice(0, 1).map((target) => ({ ...target, model: model.id })) }
}
