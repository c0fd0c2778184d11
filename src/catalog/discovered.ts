// Models discovered at self-hosted servers. They are free, and models of the catalogue or the configuration take
// precedence.
import { FREE, type ModelCapability, type ModelModality } from "../canonical/model.ts"
import type { CatalogModel } from "./catalog.ts"

/** The models that one entry of the configuration offers. */
export interface DiscoveredOffer {
  readonly provider: string
  readonly models: readonly DiscoveredModel[]
}

interface DiscoveredModel {
  /** The host's name for it. */
  readonly name: string
  readonly kind: "chat" | "embedding"
  readonly contextWindow?: number
  readonly abilities: readonly ("tools" | "vision" | "reasoning")[]
}

export function joinDiscovered(models: readonly CatalogModel[], offers: readonly DiscoveredOffer[]): CatalogModel[] {
  if (offers.length === 0) return [...models]
  const taken = new Set(models.flatMap(namesOf))
  const discovered = offers.flatMap((offer) => offer.models.map((each) => discoveredModel(offer.provider, each)))
  return [...models, ...discovered.filter(({ id }) => !taken.has(id))]
}

/** Every name that leads to a model, including those with a host prefix, where it may have a price. */
function namesOf({ id, aliases, targets }: CatalogModel): string[] {
  return [id, ...aliases, ...targets.map(({ provider, model }) => `${provider}/${model}`)]
}

function discoveredModel(provider: string, { name, kind, contextWindow, abilities }: DiscoveredModel): CatalogModel {
  const has = (ability: DiscoveredModel["abilities"][number]) => abilities.includes(ability)
  const input: ModelModality[] = has("vision") ? ["text", "image"] : ["text"]
  const capabilities: ModelCapability[] = []
  if (has("tools")) capabilities.push("tools")
  if (has("reasoning")) capabilities.push("reasoning")
  return {
    id: `${provider}/${name}`,
    displayName: name,
    version: "1",
    kind,
    status: "active",
    created: 0,
    aliases: [],
    ...(contextWindow !== undefined && { contextWindow }),
    modalities: { input, output: [kind === "embedding" ? "embedding" : "text"] },
    capabilities,
    reasoning: has("reasoning"),
    pricing: FREE,
    targets: [{ provider, model: name, priority: 1, weight: 1 }],
  }
}
