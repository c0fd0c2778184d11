// Merges an operator's model entries into the bundled models: an entry changes the members it names, or adds a model.
import type { ModelKind, ModelModalities } from "../canonical/model.ts"
import type { CatalogModel } from "./catalog.ts"

/** For a bundled model, only the members to change. */
export type ModelOverride = Pick<CatalogModel, "id"> &
  Partial<Omit<CatalogModel, "id" | "status" | "created" | "knowledgeCutoff">>

export function joinModels(models: readonly CatalogModel[], overrides: readonly ModelOverride[]): CatalogModel[] {
  const taken = new Set(overrides.flatMap(({ aliases = [] }) => aliases))
  const joined = new Map(models.map((model) => [model.id, withoutNames(model, taken)]))
  for (const override of overrides) {
    joined.set(override.id, applyOverride(joined.get(override.id) ?? newModel(override), override))
  }
  return [...joined.values()]
}

/** A name that the operator reassigned no longer leads to the bundled model. */
function withoutNames(model: CatalogModel, taken: ReadonlySet<string>): CatalogModel {
  if (!model.aliases.some((alias) => taken.has(alias))) return model
  return { ...model, aliases: model.aliases.filter((alias) => !taken.has(alias)) }
}

function applyOverride(model: CatalogModel, override: ModelOverride): CatalogModel {
  const claimed = override.capabilities ?? model.capabilities
  const reasoning = override.reasoning ?? claimed.includes("reasoning")
  const others = claimed.filter((capability) => capability !== "reasoning")
  const { guessedModalities, ...known } = model
  return {
    ...known,
    ...(guessedModalities && !override.modalities && { guessedModalities }),
    ...override,
    aliases: [...model.aliases, ...(override.aliases ?? [])],
    capabilities: reasoning ? [...others, "reasoning"] : others,
    reasoning,
  }
}

function newModel({ id, kind = "chat" }: ModelOverride): CatalogModel {
  return {
    id,
    displayName: id,
    version: "1",
    kind,
    status: "active",
    created: 0,
    aliases: [],
    modalities: USUAL_MODALITIES[kind],
    guessedModalities: true,
    capabilities: [],
    reasoning: false,
    targets: [],
  }
}

const USUAL_MODALITIES: Readonly<Record<ModelKind, ModelModalities>> = {
  chat: { input: ["text"], output: ["text"] },
  embedding: { input: ["text"], output: ["embedding"] },
  image: { input: ["text"], output: ["image"] },
  moderation: { input: ["text"], output: ["text"] },
}
