// Compares the catalogue's files with a list of facts: changed prices and limits, removed models, new models.
import { type CatalogFact, plain } from "./catalog-facts.ts"

/** A file of src/catalog/models, as far as this needs to know it. */
export interface ModelFile {
  readonly author: string
  readonly models: CatalogEntryJson[]
}

interface CatalogEntryJson {
  readonly id: string
  readonly kind: string
  readonly aliases?: readonly string[]
  context_window?: number
  max_output_tokens?: number
  pricing: Record<string, unknown>
  readonly targets: CatalogTargetJson[]
}

interface CatalogTargetJson {
  readonly provider: string
  readonly model: string
  pricing?: Record<string, unknown>
}

export interface CatalogDifference {
  readonly author: string
  readonly message: string
  /** Applies the fact to the entry; absent if a person has to decide. */
  readonly apply?: () => void
}

/** The prices that a model should have if they are known. */
const USUAL: ReadonlySet<string> = new Set(["input", "output", "cache_read"])

export function compare(files: readonly ModelFile[], facts: readonly CatalogFact[]): CatalogDifference[] {
  const known = new Map(facts.map((fact) => [`${fact.provider}/${fact.model}`, fact]))
  const providers = new Set(facts.map(({ provider }) => provider))
  return files.flatMap(({ author, models }) => {
    const found = models.flatMap((entry) => entryDifferences(entry, { author, known, providers }))
    return [...found, ...newModels({ author, models }, facts)].map((each) => ({ author, ...each }))
  })
}

interface AuthorKnowledge {
  readonly author: string
  readonly known: ReadonlyMap<string, CatalogFact>
  /** The providers in the facts. */
  readonly providers: ReadonlySet<string>
}

type FoundDifference = Omit<CatalogDifference, "author">

function entryDifferences(entry: CatalogEntryJson, { author, known, providers }: AuthorKnowledge): FoundDifference[] {
  return entry.targets.flatMap((target) => {
    const fact = known.get(`${target.provider}/${target.model}`)
    const where = `${entry.id} at ${target.provider}`
    if (!fact)
      return providers.has(target.provider) ? [{ message: `${where}: no longer there as ${target.model}` }] : []
    // Limits of other hosts are their choice; the author's own limits are the model's.
    const isOwn = target.provider === author
    return [...priceDifferences(entry, target, { fact, where }), ...(isOwn ? limitDifferences(entry, fact) : [])]
  })
}

function priceDifferences(
  entry: CatalogEntryJson,
  target: CatalogTargetJson,
  { fact, where }: { fact: CatalogFact; where: string },
): FoundDifference[] {
  const ours = target.pricing ?? entry.pricing
  const changed = Object.entries(fact.prices).filter(([name, theirs]) => {
    const own = ours[name]
    if (own !== undefined) return plain(String(own)) !== theirs
    // Many sources write 0 where a host asks nothing extra for its cache, and an output for what has none.
    return entry.kind === "chat" && theirs !== "0" && USUAL.has(name)
  })
  if (changed.length === 0) return []
  const list = changed.map(([name, theirs]) => `${name} ${String(ours[name] ?? "none")} → ${theirs}`).join(", ")
  const apply = () => {
    const pricing = { ...ours, ...Object.fromEntries(changed) }
    if (target.pricing || entry.targets[0] !== target) target.pricing = pricing
    else entry.pricing = pricing
  }
  return [{ message: `${where}: ${list}`, apply }]
}

function limitDifferences(entry: CatalogEntryJson, fact: CatalogFact): FoundDifference[] {
  const limits = [
    ["context_window", fact.contextWindow],
    ["max_output_tokens", fact.maxOutputTokens],
  ] as const
  return limits.flatMap(([name, theirs]) => {
    const ours = entry[name]
    if (theirs === undefined || ours === undefined || ours === theirs) return []
    const apply = () => {
      entry[name] = theirs
    }
    return [{ message: `${entry.id}: ${name} ${ours} → ${theirs}`, apply }]
  })
}

/** Models at the author's own host that no entry names. */
function newModels({ author, models }: ModelFile, facts: readonly CatalogFact[]): FoundDifference[] {
  const carried = new Set(models.flatMap(({ id, aliases = [] }) => [id.slice(author.length + 1), ...aliases]))
  for (const { targets } of models)
    for (const { provider, model } of targets) if (provider === author) carried.add(model)
  return facts
    .filter(({ provider, model, kind }) => provider === author && kind !== "rerank" && !carried.has(model))
    .map(({ model, prices }) => ({ message: `${author}/${model}: new, ${JSON.stringify(prices)}` }))
}

/** Writes a member per line and a target per line. The formatter breaks long lines. */
export function printModelFile(
  file: Readonly<Record<string, unknown>> & { readonly models: readonly object[] },
): string {
  const { models, ...head } = file
  const members = Object.entries(head).map(([name, value]) => `  ${JSON.stringify(name)}: ${inline(value)},`)
  const entries = models.map((entry) => `    {\n${Object.entries(entry).map(member).join(",\n")}\n    }`)
  return `{\n${members.join("\n")}\n  "models": [\n${entries.join(",\n")}\n  ]\n}\n`
}

function member([name, value]: [string, unknown]): string {
  if (name !== "targets" || !Array.isArray(value)) return `      ${JSON.stringify(name)}: ${inline(value)}`
  return `      "targets": [\n${value.map((target) => `        ${inline(target)}`).join(",\n")}\n      ]`
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${inline(each)}`)
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`
}
