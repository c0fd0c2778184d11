// The models and accounts of one configuration, joined; a part of the composition root.
import { bundledModels } from "./catalog/bundled.ts"
import { Catalog, type Model } from "./catalog/catalog.ts"
import { joinGroups } from "./catalog/groups.ts"
import { joinModels } from "./catalog/overrides.ts"
import type { Config } from "./config/config.ts"
import { codecs } from "./protocols.ts"
import { openAccounts } from "./providers/account.ts"
import type { Account, Provider } from "./providers/contract.ts"
import { simulatorProvider } from "./providers/simulator.ts"
import { compatibleProviders, knownProviders as realProviders } from "./providers/table.ts"
import type { RoutingTable } from "./routing/plan.ts"
import { createSimulator } from "./simulator/simulator.ts"
import { splitName } from "./simulator/words.ts"
import type { Send } from "./transport/http-client.ts"

export const knownProviders: readonly Provider[] = [...realProviders, simulatorProvider]

/** Every type an entry of the configuration may have. */
export const providerTypes: readonly Provider[] = [...knownProviders, ...compatibleProviders]

const simulator = createSimulator()
const translated = new Set(codecs.upstream.keys())

export interface GatewayTable extends RoutingTable {
  readonly isDemo: boolean
}

/** The models and accounts of one configuration. Without any account the simulator serves every model. */
export function buildTable(config: Config, send: Send): GatewayTable {
  const accounts = new Map<string, readonly Account[]>()
  for (const settings of config.providers) {
    const provider = providerTypes.find(({ id }) => id === settings.type)
    const isHere = provider === simulatorProvider && settings.baseUrl === undefined
    const reach = isHere ? simulator : send
    const opened = provider ? openAccounts(provider, { ...settings, send: reach }) : []
    if (opened.length > 0) accounts.set(settings.id, opened)
  }
  const models = joinModels(bundledModels(), config.models)
  const isDemo = accounts.size === 0
  const isSimulated = (provider: string) => {
    return config.providers.some(({ id, type }) => id === provider && type === simulatorProvider.id)
  }
  const strategy = config.defaults.routing
  const grouped = (all: readonly Model[]) => joinGroups(all, config.groups)
  if (!isDemo)
    return { catalog: new SimulatedCatalog(grouped(models), isSimulated), accounts, translated, strategy, isDemo }
  const account = openAccounts(simulatorProvider, { id: simulatorProvider.id, send: simulator })
  for (const { targets } of models) for (const { provider } of targets) accounts.set(provider, account)
  const catalog = new SimulatedCatalog(grouped(models.map(simulated)), () => true)
  return { catalog, accounts, translated, strategy, isDemo }
}

/** Where the simulator serves, a model's name may end in what is asked of it: `@status-503`. Nobody else hears that. */
class SimulatedCatalog extends Catalog {
  constructor(
    models: readonly Model[],
    private readonly isSimulated: (provider: string) => boolean,
  ) {
    super(models)
  }

  override find(name: string): Model | undefined {
    const found = super.find(name)
    if (found) return found
    const { name: bare, suffix } = splitName(name)
    const model = suffix === "" ? undefined : super.find(bare)
    const heard = model?.targets.filter(({ provider }) => this.isSimulated(provider)) ?? []
    if (!model || heard.length === 0) return undefined
    return { ...model, targets: heard.map((target) => ({ ...target, model: target.model + suffix })) }
  }
}

/** Served where it always is, by the simulator in each host's place, under the name callers know. */
function simulated(model: Model): Model {
  return { ...model, targets: model.targets.map((target) => ({ ...target, model: model.id })) }
}
