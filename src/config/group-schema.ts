// The schema of an entry under `groups`: a name, its models, and a strategy.

import { nearestName, quoteName } from "../canonical/nearest-name.ts"
import type { GroupSettings } from "./config.ts"
import { type ConfigShape, choice, list, object, optional, ParseProblem, required, text } from "./config-shape.ts"
import { uniqueName } from "./model-schema.ts"
import { modelId } from "./parse-values.ts"

interface GroupContext {
  /** Ids a group may name: of the bundled models and of those of the file. */
  readonly models: readonly string[]
  /** Ids of the bundled models. */
  readonly knownModels: readonly string[]
  /** The names that the file has used, with their positions. */
  readonly taken: Map<string, string>
}

export const strategy = choice("cost", "latency", "quality")

export function groupSchema({ models, knownModels, taken }: GroupContext): ConfigShape<GroupSettings> {
  const bundled = new Set(knownModels)
  const id = text((name) => {
    return bundled.has(name) ? new ParseProblem(`${quoteName(name)} is the id of a bundled model`) : modelId(name)
  })
  const member = text((name) => (models.includes(name) ? name : new ParseProblem(unknownModel(name, models))))
  return object(
    {
      id: required(uniqueName(id, taken)),
      models: required(list(member, { atLeast: 1 })),
      routing: optional(strategy),
    },
    ({ models: named = [] }, node) => {
      const twice = named.find((name, index) => named.indexOf(name) !== index)
      if (twice !== undefined) node.reportName(`${quoteName(twice)} appears twice under "models"`)
    },
  )
}

/** There are too many models to list them all. */
function unknownModel(name: string, models: readonly string[]): string {
  const nearest = nearestName(name, models)
  const hint =
    nearest === undefined ? 'it is neither bundled nor under "models"' : `did you mean ${quoteName(nearest)}?`
  return `unknown model ${quoteName(name)}; ${hint}`
}
