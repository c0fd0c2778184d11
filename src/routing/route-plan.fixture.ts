// Models, accounts and plan inputs for tests, with only the members that matter.

import type { RoutingOptions, RoutingStrategy } from "../canonical/chat/chat-request.ts"
import type { Pricing } from "../canonical/model.ts"
import { Catalog, type CatalogModel, type TargetRow } from "../catalog/catalog.ts"
import { joinGroups } from "../catalog/model-groups.ts"
import type { ProtocolEndpoint, ProviderAccount } from "../providers/contract.ts"
import { accountNamed } from "./health-monitor.fixture.ts"
import type { TargetKey } from "./health-monitor.ts"
import type { PlanInput } from "./plan-input.ts"
import { planRoute, type RoutePlan, type RoutingTable } from "./route-plan.ts"

const endpoint: ProtocolEndpoint = {
  baseUrl: "http://upstream",
  streamUsage: "ask",
  send: () => Promise.reject(new Error("not called")),
  headersWith: () => new Headers(),
}

/** Distinguishable accounts of one provider. */
export function accountsAt(id: string, { count = 1, protocol = "openai-chat" } = {}): ProviderAccount[] {
  return Array.from({ length: count }, (_, index) => ({
    ...accountNamed(id),
    baseUrl: `http://${id}/${index}`,
    endpoints: { [protocol]: endpoint },
  }))
}

/** A model served by several providers, all equal by default. */
export function modelOf(
  id: string,
  rows: Readonly<Record<string, Partial<TargetRow>>>,
  rest: Partial<CatalogModel> = {},
): CatalogModel {
  return {
    id,
    displayName: id,
    version: "1",
    kind: "chat",
    status: "active",
    created: 0,
    modalities: { input: ["text"], output: ["text"] },
    capabilities: [],
    aliases: [],
    reasoning: false,
    targets: Object.entries(rows).map(([provider, row]) => ({
      provider,
      model: `${id}@${provider}`,
      priority: 1,
      weight: 1,
      ...row,
    })),
    ...rest,
  }
}

export function withPrices(input: number, output: number, cacheRead?: number): { pricing: Pricing } {
  const prices = { input: `${input}`, output: `${output}` }
  return { pricing: cacheRead === undefined ? prices : { ...prices, cacheRead: `${cacheRead}` } }
}

interface StagedModels {
  readonly models: readonly CatalogModel[]
  readonly groups?: Parameters<typeof joinGroups>[1]
  /** Accounts by provider; all other providers have one account that speaks chat completions. */
  readonly accounts?: Readonly<Record<string, readonly ProviderAccount[]>>
  readonly strategy?: RoutingStrategy
}

type StagedPlanInput = Omit<Partial<PlanInput>, "routingOptions"> & {
  readonly routingOptions?: Partial<RoutingOptions>
}

/** A table of models, and plans on it. */
export class StagedTable {
  readonly table: RoutingTable

  constructor({ models, groups = [], accounts = {}, strategy }: StagedModels) {
    const providers = new Set(models.flatMap(({ targets }) => targets.map(({ provider }) => provider)))
    this.table = {
      catalog: new Catalog(joinGroups(models, groups)),
      accounts: new Map([...providers].map((id) => [id, accounts[id] ?? accountsAt(id)])),
      translated: [new Set(["openai-chat", "gemini"])],
      strategy,
    }
  }

  account(provider: string, index = 0): ProviderAccount {
    const account = this.table.accounts.get(provider)?.[index]
    if (!account) throw new Error(`no account ${index} at ${provider}`)
    return account
  }

  /** The key of the provider's first account, for models that `modelOf` made. */
  targetKey(model: string, provider: string): TargetKey {
    return { account: this.account(provider), upstreamModel: `${model}@${provider}` }
  }

  plan(names: string | readonly string[], { routingOptions, ...overrides }: StagedPlanInput = {}): RoutePlan {
    const models = [names].flat().map((name) => {
      const model = this.table.catalog.find(name)
      if (!model) throw new Error(`no model ${name}`)
      return model
    })
    const input = { protocol: "openai-chat", table: this.table, rotation: 0, translates: true, ...overrides }
    return planRoute(models, routingOptions ? { ...input, routingOptions: { fallback: [], ...routingOptions } } : input)
  }

  /** The models' names at the providers, which end in the provider's name. */
  order(names: string | readonly string[], input?: StagedPlanInput): string[] {
    return this.plan(names, input).attempts.map(({ upstreamModel }) => upstreamModel)
  }
}
