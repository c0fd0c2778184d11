// From a name that a caller wrote to a model: exact names first, then names of other gateways, then names without regard
// to case; and for names that lead nowhere the models that were probably meant.
import { allowsModel } from "../access/scope.ts"
import { editDistance } from "../canonical/nearest-name.ts"
import { bareName, type Catalog, type CatalogModel } from "../catalog/catalog.ts"
import { splitVariant, withKnownHost } from "../catalog/name-variants.ts"

/** The patterns of the models a key may call; null is all. */
type ModelScope = readonly string[] | null

interface ResolveOptions {
  readonly catalog: Catalog
  readonly scope: ModelScope
}

export function resolveModel(name: string, options: ResolveOptions): CatalogModel | undefined {
  return options.catalog.find(name) ?? resolveInexact(name, options)
}

function resolveInexact(name: string, options: ResolveOptions): CatalogModel | undefined {
  const split = splitVariant(name)
  if (!split) return resolveFolded(name, options)
  if ("advice" in split.variant) return undefined
  const model = resolveModel(split.base, options)
  return model && { ...model, routing: split.variant.routing }
}

/** The one model of the key's scope that bears this name without regard to case. */
function resolveFolded(name: string, { catalog, scope }: ResolveOptions): CatalogModel | undefined {
  const known = withKnownHost(name)
  const found = new Map<string, CatalogModel>()
  for (const each of [known, ...catalog.namesLike(known)]) {
    const model = catalog.find(each)
    if (model && allowsModel(scope, model.id)) found.set(model.id, model)
  }
  const [model] = found.values()
  return found.size === 1 ? model : undefined
}

/** Why a name that has a variant of another gateway's does not resolve, as the rest of a sentence. */
export function adviseVariant(name: string, options: ResolveOptions): string | undefined {
  const split = splitVariant(name)
  if (!split || !("advice" in split.variant)) return undefined
  const model = resolveModel(split.base, options)
  if (!model || !allowsModel(options.scope, model.id)) return undefined
  return `The model's name is \`${model.id}\`: ${split.variant.advice}.`
}

const MAX_SUGGESTIONS = 3
const MAX_COMPARED_LENGTH = 80
/** How alike two names must be, from 0 to 1, and how much less alike than the best a further suggestion may be. */
const LEAST_LIKENESS = 0.6
const LIKENESS_SPREAD = 0.1

/** Those of the models whose names are most like the one that leads nowhere, the likest and newest first. */
export function suggestModels(
  name: string,
  { models, isCallable }: { models: readonly CatalogModel[]; isCallable: (model: CatalogModel) => boolean },
): string[] {
  if (name.length > MAX_COMPARED_LENGTH) return []
  const wanted = nameParts(splitVariant(name)?.base ?? name)
  const likened = models
    .map((model) => ({
      model,
      likeness: likenessOf(wanted, nameParts(model.id)) - (model.status === "active" ? 0 : AGED),
    }))
    .filter(({ likeness }) => likeness >= LEAST_LIKENESS)
    .toSorted((one, other) => other.likeness - one.likeness || other.model.created - one.model.created)
  const suggested: typeof likened = []
  for (const each of likened) {
    if (each.likeness < (suggested[0]?.likeness ?? 0) - LIKENESS_SPREAD) break
    if (isCallable(each.model)) suggested.push(each)
    if (suggested.length === MAX_SUGGESTIONS) break
  }
  return suggested.map(({ model }) => model.id)
}

/** What a model that is on its way out loses against one that is not. */
const AGED = 0.1

interface NameParts {
  readonly author: string
  readonly bare: string
  readonly words: ReadonlySet<string>
}

function nameParts(name: string): NameParts {
  const lower = name.toLowerCase()
  const bare = bareName(lower)
  const author = lower.slice(0, lower.length - bare.length)
  return { author, bare, words: new Set(bare.match(/[a-z]+|\d+/g) ?? []) }
}

const SAME_AUTHOR = 0.05

/** The same letters in nearly the same order, or the same words in any. */
function likenessOf(one: NameParts, other: NameParts): number {
  const common = [...one.words].filter((word) => other.words.has(word)).length
  const byWords = (2 * common) / (one.words.size + other.words.size || 1)
  const likeness = Math.max(byWords * SURENESS_OF_WORDS, likenessByLetters(one.bare, other.bare))
  return likeness === 0 || one.author !== other.author ? likeness : likeness + SAME_AUTHOR
}

function likenessByLetters(one: string, other: string): number {
  const longer = Math.max(one.length, other.length, 1)
  const most = Math.min(one.length, other.length) / longer
  // The lengths alone rule most out, which saves the comparison.
  return most < LEAST_LIKENESS ? 0 : 1 - editDistance(one, other) / longer
}

/** Words in another order are a weaker sign than a slip of the fingers. */
const SURENESS_OF_WORDS = 0.95
