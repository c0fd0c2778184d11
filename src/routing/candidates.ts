// Every place that could answer for a model, under what the caller wishes and what is known of its health: those that
// may be tried, those that are out, and those that are ruled out.
import { FREE } from "../canonical/model.ts"
import type { MaxPrice } from "../canonical/request.ts"
import type { Model, TargetRow } from "../catalog/catalog.ts"
import type { Account, Line } from "../providers/contract.ts"
import type { Standing, Why } from "./breaker.ts"
import { isDearer } from "./expected-cost.ts"
import type { Occasion } from "./occasion.ts"
import type { Target } from "./target.ts"
import type { AccountHealth, TargetHealth } from "./target-health.ts"

/** A place that could answer. */
export interface Candidate extends Target {
  readonly row: TargetRow
  readonly health: Standing
  readonly knownAccount: AccountHealth | undefined
  readonly known: TargetHealth | undefined
  /** Whether the session of this request is at home there. */
  readonly isHome: boolean
  /** What it is ordered by, the least first. */
  score: number
}

/** Why a place is not tried: by a wish of the caller's, because it is out, or because enough others are tried. */
export type Exclusion = "only" | "ignore" | "max_price" | "require_parameters" | "enough" | Why

export interface Excluded {
  readonly provider: string
  readonly model: string
  readonly upstreamModel: string
  readonly why: Exclusion
}

export class Candidates {
  /** Those that may be tried, in the order of the catalogue. */
  readonly live: Candidate[] = []
  readonly out: Candidate[] = []
  readonly excluded: Excluded[] = []

  constructor(
    model: Model,
    private readonly occasion: Occasion,
  ) {
    if (!model.members) this.look(model)
    else for (const id of model.members) this.look(occasion.table.catalog.find(id))
  }

  get hasAny(): boolean {
    return this.live.length + this.out.length > 0
  }

  private look(model: Model | undefined): void {
    for (const row of model?.targets ?? []) {
      const accounts = this.occasion.table.accounts.get(row.provider)
      if (!model || !accounts) continue
      const served = { model, row }
      for (const account of accounts) this.sort(this.candidateAt(account, served))
    }
  }

  private sort(candidate: Candidate | undefined): void {
    if (!candidate) return
    const why = this.ruledOut(candidate)
    if (why) this.excluded.push(excludedAs(why, candidate))
    else if (candidate.health === "out") this.out.push(candidate)
    else this.live.push(candidate)
  }

  private candidateAt(account: Account, { model, row }: { model: Model; row: TargetRow }): Candidate | undefined {
    const upstreamModel = row.model
    const protocol = this.spokenAt(account, upstreamModel)
    const line = protocol && account.lines[protocol]
    if (!line) return undefined
    const { health, home } = this.occasion
    const knownAccount = health?.of(account)
    const known = knownAccount?.targets.get(upstreamModel)
    return {
      model,
      account,
      upstreamModel,
      protocol,
      line,
      pricing: row.pricing ?? model.pricing ?? (account.isFree ? FREE : undefined),
      row,
      health: knownAccount && health ? knownAccount.standingOf(known, health.now) : "in",
      knownAccount,
      known,
      isHome: home !== undefined && home.account === account && home.upstreamModel === upstreamModel,
      score: 0,
    }
  }

  /** The client's protocol, or the one the account speaks best that the request can be said in. */
  private spokenAt({ lines }: Account, upstreamModel: string): string | undefined {
    const { protocol, table, translates } = this.occasion
    if (serves(lines[protocol], upstreamModel)) return protocol
    const alike = translates ? table.translated.find((each) => each.has(protocol)) : undefined
    return Object.keys(lines).find((other) => alike?.has(other) && serves(lines[other], upstreamModel))
  }

  private ruledOut(candidate: Candidate): Exclusion | undefined {
    const { wishes, losesParameters } = this.occasion
    if (!wishes) return undefined
    if (wishes.only && !isAmong(wishes.only, candidate)) return "only"
    if (wishes.ignore && isAmong(wishes.ignore, candidate)) return "ignore"
    if (wishes.maxPrice && this.isTooDear(candidate, wishes.maxPrice)) return "max_price"
    return wishes.requireParameters && losesParameters?.(candidate) ? "require_parameters" : undefined
  }

  private isTooDear({ pricing }: Candidate, most: MaxPrice): boolean {
    const isLimited = most.prompt !== undefined || most.completion !== undefined
    if (!pricing) return isLimited
    return isDearer(most, { pricing, inputTokens: this.occasion.facts?.inputTokens ?? 0 })
  }
}

export function excludedAs(why: Exclusion, { account, model, upstreamModel }: Candidate): Excluded {
  return { provider: account.id, model: model.id, upstreamModel, why }
}

/** Whether it is one of these providers: by the id it has in the catalogue, or where something stands in for it. */
function isAmong(ids: readonly string[], { row, account }: Candidate): boolean {
  return ids.includes(row.provider) || ids.includes(account.id)
}

function serves(line: Line | undefined, upstreamModel: string): boolean {
  return line !== undefined && line.serves?.(upstreamModel) !== false
}
