// Every target that could answer for a model, under the request's routing options and the known health: available, out,
// or excluded.

import type { MaxPrice } from "../canonical/chat/chat-request.ts"
import { FREE } from "../canonical/model.ts"
import type { CatalogModel, TargetRow } from "../catalog/catalog.ts"
import type { ProtocolEndpoint, ProviderAccount } from "../providers/contract.ts"
import type { BreakerState, OutageReason } from "./breaker.ts"
import { exceedsMaxPrice } from "./expected-cost.ts"
import type { PlanInput } from "./plan-input.ts"
import type { Target } from "./target.ts"
import type { AccountHealth, TargetHealth } from "./target-health.ts"

/** A target that could answer. */
export interface RouteCandidate extends Target {
  readonly row: TargetRow
  readonly health: BreakerState
  readonly knownAccount: AccountHealth | undefined
  readonly known: TargetHealth | undefined
  /** True if the session's prompt cache is there. */
  readonly isHome: boolean
  /** The sort key, least first. */
  score: number
}

/** The reason a target is not tried: a routing option, an outage, or enough other targets. */
export type ExclusionReason = "only" | "ignore" | "max_price" | "require_parameters" | "enough" | OutageReason

export interface ExcludedTarget {
  readonly provider: string
  readonly model: string
  readonly upstreamModel: string
  readonly why: ExclusionReason
}

export class CandidateSet {
  /** Available candidates, in the order of the catalogue. */
  readonly live: RouteCandidate[] = []
  readonly out: RouteCandidate[] = []
  readonly excluded: ExcludedTarget[] = []

  constructor(
    model: CatalogModel,
    private readonly input: PlanInput,
  ) {
    if (!model.members) this.addTargets(model)
    else for (const id of model.members) this.addTargets(input.table.catalog.find(id))
  }

  get hasAny(): boolean {
    return this.live.length + this.out.length > 0
  }

  private addTargets(model: CatalogModel | undefined): void {
    for (const row of model?.targets ?? []) {
      const accounts = this.input.table.accounts.get(row.provider)
      if (!model || !accounts) continue
      const served = { model, row }
      for (const account of accounts) this.classify(this.candidateAt(account, served))
    }
  }

  private classify(candidate: RouteCandidate | undefined): void {
    if (!candidate) return
    const why = this.exclusionOf(candidate)
    if (why) this.excluded.push(toExcludedTarget(why, candidate))
    else if (candidate.health === "out") this.out.push(candidate)
    else this.live.push(candidate)
  }

  private candidateAt(
    account: ProviderAccount,
    { model, row }: { model: CatalogModel; row: TargetRow },
  ): RouteCandidate | undefined {
    const upstreamModel = row.model
    const protocol = this.chooseProtocol(account, upstreamModel)
    const endpoint = protocol && account.endpoints[protocol]
    if (!endpoint) return undefined
    const { health, home } = this.input
    const knownAccount = health?.of(account)
    const known = knownAccount?.targets.get(upstreamModel)
    return {
      model,
      account,
      upstreamModel,
      protocol,
      endpoint,
      pricing: row.pricing ?? model.pricing ?? (account.isFree ? FREE : undefined),
      row,
      health: knownAccount && health ? knownAccount.stateOf(known, health.now) : "in",
      knownAccount,
      known,
      isHome: home !== undefined && home.account === account && home.upstreamModel === upstreamModel,
      score: 0,
    }
  }

  /** The client's protocol, or the account's preferred one that the request translates to. */
  private chooseProtocol({ endpoints }: ProviderAccount, upstreamModel: string): string | undefined {
    const { protocol, table, translates } = this.input
    if (serves(endpoints[protocol], upstreamModel)) return protocol
    const alike = translates ? table.translated.find((each) => each.has(protocol)) : undefined
    return Object.keys(endpoints).find((other) => alike?.has(other) && serves(endpoints[other], upstreamModel))
  }

  private exclusionOf(candidate: RouteCandidate): ExclusionReason | undefined {
    const { routingOptions, losesParameters } = this.input
    if (!routingOptions) return undefined
    if (routingOptions.only && !isAmong(routingOptions.only, candidate)) return "only"
    if (routingOptions.ignore && isAmong(routingOptions.ignore, candidate)) return "ignore"
    if (routingOptions.maxPrice && this.isTooDear(candidate, routingOptions.maxPrice)) return "max_price"
    return routingOptions.requireParameters && losesParameters?.(candidate) ? "require_parameters" : undefined
  }

  private isTooDear({ pricing }: RouteCandidate, most: MaxPrice): boolean {
    const isLimited = most.prompt !== undefined || most.completion !== undefined
    if (!pricing) return isLimited
    return exceedsMaxPrice(most, { pricing, inputTokens: this.input.facts?.inputTokens ?? 0 })
  }
}

export function toExcludedTarget(
  why: ExclusionReason,
  { account, model, upstreamModel }: RouteCandidate,
): ExcludedTarget {
  return { provider: account.id, model: model.id, upstreamModel, why }
}

/** True if the candidate's provider is listed, by its own id or by the id it replaces. */
function isAmong(ids: readonly string[], { row, account }: RouteCandidate): boolean {
  return ids.includes(row.provider) || ids.includes(account.id)
}

function serves(endpoint: ProtocolEndpoint | undefined, upstreamModel: string): boolean {
  return endpoint !== undefined && endpoint.serves?.(upstreamModel) !== false
}
