// Warns about model patterns that match no model: such a scope is valid but allows nothing.
import { matchesPattern } from "../access/scope.ts"
import { nearestName } from "../canonical/nearest-name.ts"
import type { AdminFlags } from "./command-flags.ts"
import type { ListedModel, ListGatewayModels } from "./commands/models.ts"
import type { GrantFlags } from "./grant-flags.ts"
import { printError } from "./print.ts"

interface ScopeFlags extends AdminFlags, Pick<GrantFlags, "models"> {
  readonly map?: { readonly to: readonly { readonly to: string }[] | null }
}

/** Warns, after the change is made, about patterns and map targets that match no model. */
export async function warnOfScope(flags: ScopeFlags, listModels: ListGatewayModels): Promise<void> {
  const patterns = flags.models?.to ?? []
  const targets = (flags.map?.to ?? []).map(({ to }) => to)
  if (patterns.length + targets.length === 0) return
  const models = await listModels(flags)
  for (const warning of [...warnUnmatched(patterns, models), ...warnUnknownTargets(targets, models)])
    printError(warning)
}

/** One warning per pattern that matches no known model. */
function warnUnmatched(patterns: readonly string[], models: readonly ListedModel[]): string[] {
  const names = models.flatMap(namesOf)
  return patterns.flatMap((pattern) => {
    if (names.some((name) => matchesPattern(pattern, name))) return []
    const meant = meantPattern(pattern, models)
    const question = meant === undefined ? "See: trivium models --all" : `Did you mean ${meant}?`
    return [`Warning: no known model matches "${pattern}". ${question}`]
  })
}

/** One warning per model map target that is not a known model. */
function warnUnknownTargets(targets: readonly string[], models: readonly ListedModel[]): string[] {
  const names = new Set(models.flatMap(namesOf).map((name) => name.toLowerCase()))
  return targets.flatMap((target) => {
    const bare = target.replace(/[:@][^/]*$/, "").toLowerCase()
    if (names.has(target.toLowerCase()) || names.has(bare)) return []
    const meant = nearestName(
      target,
      models.map(({ id }) => id),
    )
    const question = meant === undefined ? "See: trivium models --all" : `Did you mean ${meant}?`
    return [`Warning: there is no model "${target}" to map to. ${question}`]
  })
}

/** Every name that a scope can match: the model's id, and its names with a provider prefix. */
function namesOf({ id, targets }: ListedModel): string[] {
  const bare = id.slice(id.indexOf("/") + 1)
  const pinned = targets.flatMap(({ provider, model }) => [id, bare, model].map((name) => `${provider}/${name}`))
  return [id, bare, ...pinned]
}

/** The nearest pattern or model name. */
function meantPattern(pattern: string, models: readonly ListedModel[]): string | undefined {
  const ids = models.map(({ id }) => id)
  if (!pattern.includes("*")) return nearestName(pattern, ids)
  const [author = "", ...rest] = pattern.split("/")
  const authors = [...new Set(ids.map((id) => id.slice(0, id.indexOf("/"))))]
  const nearest = rest.length === 0 || author.includes("*") ? undefined : nearestName(author, authors)
  return nearest === undefined || nearest === author ? undefined : [nearest, ...rest].join("/")
}
