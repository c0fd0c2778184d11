// The models that a request may name, and their targets. Every name is a map lookup.

import type { RoutingStrategy } from "../canonical/chat/chat-request.ts"
import type { ReasoningEffort } from "../canonical/chat/reasoning-effort.ts"
import type { ModelCard, Pricing } from "../canonical/model.ts"

export interface CatalogModel extends ModelCard {
  /** All aliases, including the bare name. */
  readonly aliases: readonly string[]
  /** Reasons before it answers, so its silence may last longer. */
  readonly reasoning: boolean
  /** The reasoning efforts that it accepts, lowest first, if known. */
  readonly efforts?: readonly ReasoningEffort[]
  /** The thinking budgets it accepts, in tokens. */
  readonly thinkingTokens?: { readonly min?: number; readonly max?: number }
  /** Its modalities are unknown; those listed are the usual ones of its kind. */
  readonly guessedModalities?: true
  /** Rejects temperature and other sampling settings. */
  readonly fixedSampling?: boolean
  /** The rank among recommended models, lowest first. */
  readonly recommended?: number
  /** The project's own coarse tier from 0 to 100, or the operator's. */
  readonly quality?: number
  /** The catalogue orders them: lower priority first, then higher weight. */
  readonly targets: readonly TargetRow[]
  /** For a group: the ids of its models. It has no targets of its own. */
  readonly members?: readonly string[]
  /** For a group: its default strategy. */
  readonly routing?: RoutingStrategy
}

/** A model at one provider, with its name there. */
export interface TargetRow {
  readonly provider: string
  readonly model: string
  /** Lower is tried first. */
  readonly priority: number
  readonly weight: number
  /** The price there, if not the model's. */
  readonly pricing?: Pricing
  /** The precision of the weights there, if known. */
  readonly precision?: Precision
}

/** Precisions of weights, the best first. */
export const PRECISIONS = ["fp32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4"] as const
export type Precision = (typeof PRECISIONS)[number]

/** Models by name; undefined marks an ambiguous name. */
type ModelNames = Map<string, CatalogModel | undefined>

export class Catalog {
  readonly models: readonly CatalogModel[]
  private readonly byId: ReadonlyMap<string, CatalogModel>
  private readonly byAlias: ModelNames = new Map()
  /** Models by provider and name there: `together/meta-llama/Llama-3.3-70B-Instruct-Turbo`. */
  private readonly byHostName: ModelNames = new Map()
  /** Names in lower case, each with the names that differ only in case; built on first use. */
  private folded: ReadonlyMap<string, readonly string[]> | undefined

  /** If two models have the same id, the later one counts. */
  constructor(models: readonly CatalogModel[]) {
    this.byId = new Map(models.map((model) => [model.id, { ...model, targets: orderTargets(model.targets) }]))
    this.models = [...this.byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    const alsoNamed: ModelNames = new Map()
    for (const model of this.models) {
      const ownName = bareName(model.id)
      for (const alias of model.aliases) claimName(alias === ownName ? this.byAlias : alsoNamed, alias, model)
      for (const target of model.targets) claimName(this.byHostName, `${target.provider}/${target.model}`, model)
    }
    // A name that the model's author uses takes precedence over an alias of another.
    for (const [alias, model] of alsoNamed) if (!this.byAlias.has(alias)) this.byAlias.set(alias, model)
  }

  /** Finds a model by id; by alias, if it is unambiguous; or with a host prefix, which pins that host. */
  find(name: string): CatalogModel | undefined {
    return this.byId.get(name) ?? this.byAlias.get(name) ?? this.pinned(name)
  }

  /** The names of models that equal this one regardless of case, including those with a host prefix. */
  namesLike(name: string): readonly string[] {
    this.folded ??= this.fold()
    const lower = name.toLowerCase()
    const whole = this.folded.get(lower) ?? []
    const slash = lower.indexOf("/")
    const rest = slash < 1 ? [] : (this.folded.get(lower.slice(slash + 1)) ?? [])
    return [...whole, ...rest.map((each) => `${lower.slice(0, slash)}/${each}`)]
  }

  private fold(): Map<string, string[]> {
    const folded = new Map<string, string[]>()
    for (const name of new Set([...this.byId.keys(), ...this.byAlias.keys(), ...this.byHostName.keys()])) {
      const alike = folded.get(name.toLowerCase())
      if (alike) alike.push(name)
      else folded.set(name.toLowerCase(), [name])
    }
    return folded
  }

  /** The only model with this name at this provider. */
  servedAs(provider: string, name: string): CatalogModel | undefined {
    return this.byHostName.get(`${provider}/${name}`)
  }

  private pinned(name: string): CatalogModel | undefined {
    const slash = name.indexOf("/")
    if (slash < 1) return undefined
    const host = name.slice(0, slash)
    const rest = name.slice(slash + 1)
    const hostsOwn = this.byHostName.get(name)
    const model = hostsOwn ?? this.byId.get(rest) ?? this.byAlias.get(rest)
    if (!model) return undefined
    const isMeant = (target: TargetRow) => target.provider === host && (!hostsOwn || target.model === rest)
    const targets = model.targets.filter(isMeant)
    const pricing = targets[0]?.pricing ?? model.pricing
    return targets.length > 0 ? { ...model, ...(pricing && { pricing }), id: name, targets } : undefined
  }
}

/** The part of an id after the author. */
export function bareName(id: string): string {
  return id.slice(id.indexOf("/") + 1)
}

function claimName(names: ModelNames, name: string, model: CatalogModel): void {
  const isFree = !names.has(name) || names.get(name) === model
  names.set(name, isFree ? model : undefined)
}

function orderTargets(targets: readonly TargetRow[]): TargetRow[] {
  return targets.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight)
}
