// What an operator says of models, laid over the bundled ones: an entry changes what it names and adds what is new.
import type { Modalities, ModelKind } from "../canonical/model.ts"
import type { Model } from "./catalog.ts"

/** Of a known model only what shall be different. */
export type ModelOverride = Pick<Model, "id"> & Partial<Omit<Model, "id" | "status" | "created" | "knowledgeCutoff">>

export function joinModels(models: readonly Model[], overrides: readonly ModelOverride[]): Model[] {
  const taken = new Set(overrides.flatMap(({ aliases = [] }) => aliases))
  const joined = new Map(models.map((model) => [model.id, withoutNames(model, taken)]))
  for (const override of overrides) {
    joined.set(override.id, overridden(joined.get(override.id) ?? newModel(override), override))
  }
  return [...joined.values()]
}

/** A name the operator has given away no longer leads to the model that came with it. */
function withoutNames(model: Model, taken: ReadonlySet<string>): Model {
  if (!model.aliases.some((alias) => taken.has(alias))) return model
  return { ...model, aliases: model.aliases.filter((alias) => !taken.has(alias)) }
}

function overridden(model: Model, override: ModelOverride): Model {
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

function newModel({ id, kind = "chat" }: ModelOverride): Model {
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

const USUAL_MODALITIES: Readonly<Record<ModelKind, Modalities>> = {
  chat: { input: ["text"], output: ["text"] },
  embedding: { input: ["text"], output: ["embedding"] },
  image: { input: ["text"], output: ["image"] },
  moderation: { input: ["text"], output: ["text"] },
}
