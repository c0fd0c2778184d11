// Groups: models whose targets are other models. A group has the capabilities that all its members share.
import type { RoutingStrategy } from "../canonical/chat/chat-request.ts"
import type { CatalogModel } from "./catalog.ts"

export interface ModelGroup {
  readonly id: string
  /** Ids of the models, the first choice first. */
  readonly models: readonly string[]
  readonly routing?: RoutingStrategy
}

/** The models and their groups. Throws if a group names an unknown model, or models of several kinds. */
export function joinGroups(models: readonly CatalogModel[], groups: readonly ModelGroup[]): CatalogModel[] {
  if (groups.length === 0) return [...models]
  const byId = new Map(models.map((model) => [model.id, model]))
  return [...models, ...groups.map((group) => toGroupModel(group, byId))]
}

function toGroupModel(
  { id, models: members, routing }: ModelGroup,
  byId: ReadonlyMap<string, CatalogModel>,
): CatalogModel {
  const models = members.map((member) => {
    const model = byId.get(member)
    if (!model) throw new Error(`groups: "${id}" names "${member}", which is not a model`)
    return model
  })
  const [first] = models
  if (!first) throw new Error(`groups: "${id}" has no models`)
  const odd = models.find(({ kind }) => kind !== first.kind)
  if (odd) throw new Error(`groups: "${id}" mixes kinds: "${first.id}" (${first.kind}) and "${odd.id}" (${odd.kind})`)
  return {
    id,
    displayName: id,
    version: "1",
    kind: first.kind,
    status: "active",
    created: 0,
    aliases: [],
    ...leastLimit(models, "contextWindow"),
    ...leastLimit(models, "maxInputTokens"),
    ...leastLimit(models, "maxOutputTokens"),
    modalities: {
      input: first.modalities.input.filter((each) => models.every(({ modalities }) => modalities.input.includes(each))),
      output: first.modalities.output.filter((each) =>
        models.every(({ modalities }) => modalities.output.includes(each)),
      ),
    },
    capabilities: first.capabilities.filter((each) => models.every(({ capabilities }) => capabilities.includes(each))),
    reasoning: models.some(({ reasoning }) => reasoning),
    targets: [],
    members,
    ...(routing && { routing }),
  }
}

type ModelLimit = "contextWindow" | "maxInputTokens" | "maxOutputTokens"

function leastLimit(models: readonly CatalogModel[], limit: ModelLimit): Partial<Pick<CatalogModel, ModelLimit>> {
  const known = models.flatMap((model) => model[limit] ?? [])
  return known.length > 0 ? { [limit]: Math.min(...known) } : {}
}
