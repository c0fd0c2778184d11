// What an entry under `groups` may say: a name, the models behind it, and what they are chosen by.

import { nearestName, quoted } from "../canonical/nearest.ts"
import type { GroupSettings } from "./config.ts"
import { unique } from "./model-schema.ts"
import { choice, list, object, optional, required, type Shape, text, Wrong } from "./shape.ts"
import { modelId } from "./values.ts"

interface GroupContext {
  /** Ids a group may name: of the bundled models and of those of the file. */
  readonly models: readonly string[]
  /** Ids of the bundled models. */
  readonly knownModels: readonly string[]
  /** The names the file has used, and where. */
  readonly taken: Map<string, string>
}

export const strategy = choice("cost", "latency", "quality")

export function groupSchema({ models, knownModels, taken }: GroupContext): Shape<GroupSettings> {
  const bundled = new Set(knownModels)
  const id = text((name) => {
    return bundled.has(name) ? new Wrong(`${quoted(name)} is the id of a bundled model`) : modelId(name)
  })
  const member = text((name) => (models.includes(name) ? name : new Wrong(unknownModel(name, models))))
  return object(
    {
      id: required(unique(id, taken)),
      models: required(list(member, { atLeast: 1 })),
      routing: optional(strategy),
    },
    ({ models: named = [] }, place) => {
      const twice = named.find((name, index) => named.indexOf(name) !== index)
      if (twice !== undefined) place.reportName(`${quoted(twice)} stands twice under "models"`)
    },
  )
}

/** There are too many models to name them all. */
function unknownModel(name: string, models: readonly string[]): string {
  const nearest = nearestName(name, models)
  const hint = nearest === undefined ? 'it is neither bundled nor under "models"' : `did you mean ${quoted(nearest)}?`
  return `unknown model ${quoted(name)}; ${hint}`
}
