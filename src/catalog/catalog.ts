// The models a caller may name, and where each is served.
import type { ModelCard } from "../canonical/model.ts"

export interface Model extends ModelCard {
  readonly aliases: readonly string[]
  /** Thinks before it speaks: its silence is allowed to last longer. */
  readonly reasoning: boolean
  /** In the catalogue in order of trial: lower priority first, then higher weight. */
  readonly targets: readonly TargetRow[]
}

/** One place a model is served: a provider, and the model's name there. */
export interface TargetRow {
  readonly provider: string
  readonly model: string
  /** Lower is tried first. */
  readonly priority: number
  readonly weight: number
}

export class Catalog {
  readonly models: readonly Model[]
  private readonly byName = new Map<string, Model>()

  /** Of two models with one id the later one counts, so that an operator's entry replaces a bundled one. */
  constructor(models: readonly Model[]) {
    const byId = new Map(models.map((model) => [model.id, { ...model, targets: ordered(model.targets) }]))
    this.models = [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const model of this.models) for (const alias of model.aliases) this.byName.set(alias, model)
    for (const model of this.models) this.byName.set(model.id, model)
  }

  /** By id or alias. */
  find(name: string): Model | undefined {
    return this.byName.get(name)
  }
}

function ordered(targets: readonly TargetRow[]): TargetRow[] {
  return targets.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight)
}
