// Warns of model patterns that match nothing: a key with such a scope is valid, and opens nothing.
import { matchesPattern } from "../access/scope.ts"
import { nearestName } from "../canonical/nearest-name.ts"
import type { AdminFlags } from "./command-flags.ts"
import type { ListedModel, ListGatewayModels } from "./commands/models.ts"
import type { GrantFlags } from "./grant-flags.ts"
import { printError } from "./print.ts"

interface ScopeFlags extends AdminFlags, Pick<GrantFlags, "models"> {
  readonly map?: { readonly to: readonly { readonly to: string }[] | null }
}

/** Complains of patterns and map targets that lead nowhere, once the change itself is made. */
export async function warnOfScope(flags: ScopeFlags, listModels: ListGatewayModels): Promise<void> {
  const patterns = flags.models?.to ?? []
  const targets = (flags.map?.to ?? []).map(({ to }) => to)
  if (patterns.length + targets.length === 0) return
  const models = await listModels(flags)
  for (const warning of [...warnUnmatched(patterns, models), ...warnUnknownTargets(targets, models)])
    printError(warning)
}

/** A sentence for each pattern that no known model fits. */
function warnUnmatched(patterns: readonly string[], models: readonly ListedModel[]): string[] {
  const names = models.flatMap(namesOf)
  return patterns.flatMap((pattern) => {
    if (names.some((name) => matchesPattern(pattern, name))) return []
    const meant = meantPattern(pattern, models)
    const question = meant === undefined ? "See: trivium models --all" : `Did you mean ${meant}?`
    return [`Warning: no known model matches "${pattern}". ${question}`]
  })
}

/** A sentence for each target of a model map that no known model bears. */
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

/** Every name a scope is compared with: the model's own, and those with a host in front. */
function namesOf({ id, targets }: ListedModel): string[] {
  const bare = id.slice(id.indexOf("/") + 1)
  const pinned = targets.flatMap(({ provider, model }) => [id, bare, model].map((name) => `${provider}/${name}`))
  return [id, bare, ...pinned]
}

/** The pattern with the author, or the whole name, that was probably meant. */
function meantPattern(pattern: string, models: readonly ListedModel[]): string | undefined {
  const ids = models.map(({ id }) => id)
  if (!pattern.includes("*")) return nearestName(pattern, ids)
  const [author = "", ...rest] = pattern.split("/")
  const authors = [...new Set(ids.map((id) => id.slice(0, id.indexOf("/"))))]
  const nearest = rest.length === 0 || author.includes("*") ? undefined : nearestName(author, authors)
  return nearest === undefined || nearest === author ? undefined : [nearest, ...rest].join("/")
}
