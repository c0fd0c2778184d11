// Reads the models of one author from their file, and checks every member of every entry.

import { EFFORTS } from "../canonical/chat/reasoning-effort.ts"
import {
  type BucketPrices,
  CAPABILITIES,
  MODALITIES,
  MODEL_KINDS,
  MODEL_STATUSES,
  PRICE_NAMES,
  type PriceBucket,
  type PriceTier,
  type Pricing,
} from "../canonical/model.ts"
import { PRICE_PATTERN } from "../canonical/usd.ts"
import { bareName, type CatalogModel, PRECISIONS, type TargetRow } from "./catalog.ts"
import { MemberReader } from "./member-reader.ts"

const LINE = { like: /^\S(.*\S)?$/, what: "text on one line" }
const DATE = {
  like: /^20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$/,
  what: 'a date such as "2025-04-30" or "2025-04"',
}
const NAME = { like: /^[A-Za-z0-9][A-Za-z0-9._:@/-]*$/, what: "a model's name" }
const PROVIDER = { like: /^[a-z0-9][a-z0-9._-]*$/, what: "a provider's id" }
const PRICE = { like: PRICE_PATTERN, what: 'a decimal string such as "0.075"' }

const BUCKETS = new Map(Object.entries(PRICE_NAMES).map(([bucket, name]) => [name as string, bucket as PriceBucket]))
const FILE_MEMBERS = new Set(["author", "also", "models"])
const MODEL_MEMBERS = new Set([
  ...["id", "display_name", "aliases", "version", "kind", "status", "released", "knowledge_cutoff", "context_window"],
  ...["max_input_tokens", "max_output_tokens", "modalities", "capabilities", "quality", "pricing", "targets"],
  ...["efforts", "thinking_tokens", "fixed_sampling", "recommended"],
])
const BOUND_MEMBERS = new Set(["min", "max"])
const MODALITY_MEMBERS = new Set(["input", "output"])
const TARGET_MEMBERS = new Set(["provider", "model", "priority", "weight", "pricing", "precision"])
const PRICING_MEMBERS = new Set([...BUCKETS.keys(), "tiers"])
const TIER_MEMBERS = new Set([...BUCKETS.keys(), "above_input_tokens"])

/** Pushes every problem to `problems`; the models may be used only if there are none. */
export function readModelFile(file: unknown, problems: string[]): CatalogModel[] {
  const reader = new MemberReader(file, { where: "a file of models", problems })
  const author = reader.text("author", PROVIDER)
  const spellings = [author, ...(reader.has("also") ? keepStrings(reader.list("also")) : [])]
  const models = reader.list("models").map((entry) => readModel(entry, { spellings, problems }))
  reader.refuseOthers(FILE_MEMBERS)
  return models
}

interface FileOrigin {
  /** The author's id, and its other spellings. */
  readonly spellings: readonly string[]
  readonly problems: string[]
}

function readModel(entry: unknown, { spellings, problems }: FileOrigin): CatalogModel {
  const reader = new MemberReader(entry, { where: nameOf(entry), problems })
  const id = reader.text("id", NAME)
  if (!id.startsWith(`${spellings[0]}/`)) reader.report("id", `expected ${spellings[0]}/… in the file of that author`)
  const capabilities = reader.has("capabilities") ? reader.words("capabilities", CAPABILITIES) : []
  const modalities = reader.inner("modalities")
  const model: CatalogModel = {
    id,
    displayName: reader.text("display_name", LINE),
    aliases: allNames(reader, { id, spellings }),
    version: reader.text("version", LINE),
    kind: reader.word("kind", MODEL_KINDS),
    status: reader.has("status") ? reader.word("status", MODEL_STATUSES) : "active",
    created: Date.parse(reader.text("released", DATE)) / 1000,
    ...(reader.has("knowledge_cutoff") && { knowledgeCutoff: reader.text("knowledge_cutoff", DATE) }),
    ...readLimits(reader),
    modalities: { input: modalities.words("input", MODALITIES), output: modalities.words("output", MODALITIES) },
    capabilities,
    reasoning: capabilities.includes("reasoning"),
    ...readTraits(reader),
    quality: reader.whole("quality", { min: 0, max: 100 }),
    pricing: readPricing(reader.inner("pricing")),
    targets: reader.list("targets").map((target) => readTarget(reader.inner("targets", target))),
  }
  modalities.refuseOthers(MODALITY_MEMBERS)
  reader.refuseOthers(MODEL_MEMBERS)
  return model
}

function readTraits(
  reader: MemberReader,
): Pick<CatalogModel, "efforts" | "thinkingTokens" | "fixedSampling" | "recommended"> {
  const bounds = reader.has("thinking_tokens") ? reader.inner("thinking_tokens") : undefined
  const bound = (name: "min" | "max") => (bounds?.has(name) ? { [name]: bounds.whole(name, { min: 0 }) } : {})
  bounds?.refuseOthers(BOUND_MEMBERS)
  if (reader.has("fixed_sampling") && !reader.flag("fixed_sampling")) reader.report("fixed_sampling", "leave it out")
  return {
    ...(reader.has("efforts") && { efforts: reader.words("efforts", EFFORTS) }),
    ...(bounds && { thinkingTokens: { ...bound("min"), ...bound("max") } }),
    ...(reader.has("fixed_sampling") && { fixedSampling: true }),
    ...(reader.has("recommended") && { recommended: reader.whole("recommended", { min: 1, max: 1000 }) }),
  }
}

function readLimits(reader: MemberReader): Pick<CatalogModel, "contextWindow" | "maxInputTokens" | "maxOutputTokens"> {
  const limit = (name: string) => (reader.has(name) ? reader.whole(name, { min: 1 }) : undefined)
  const contextWindow = limit("context_window")
  const maxInputTokens = limit("max_input_tokens")
  const maxOutputTokens = limit("max_output_tokens")
  const totalLimit = contextWindow ?? Number.POSITIVE_INFINITY
  if (maxOutputTokens && maxOutputTokens > totalLimit)
    reader.report("max_output_tokens", "more than the context window")
  if (maxInputTokens && maxInputTokens >= totalLimit)
    reader.report("max_input_tokens", "not less than the context window")
  return {
    ...(contextWindow && { contextWindow }),
    ...(maxInputTokens && { maxInputTokens }),
    ...(maxOutputTokens && { maxOutputTokens }),
  }
}

function readTarget(reader: MemberReader): TargetRow {
  const target: TargetRow = {
    provider: reader.text("provider", PROVIDER),
    model: reader.text("model", LINE),
    priority: reader.has("priority") ? reader.whole("priority", { min: 0 }) : 1,
    weight: reader.has("weight") ? reader.whole("weight", { min: 1 }) : 1,
    ...(reader.has("precision") && { precision: reader.word("precision", PRECISIONS) }),
  }
  reader.refuseOthers(TARGET_MEMBERS)
  return reader.has("pricing") ? { ...target, pricing: readPricing(reader.inner("pricing")) } : target
}

function readPricing(reader: MemberReader): Pricing {
  const prices = readPrices(reader)
  if (Object.keys(prices).length === 0) reader.report("input", "expected a price here or under another name")
  reader.refuseOthers(PRICING_MEMBERS)
  return reader.has("tiers") ? { ...prices, tiers: readTiers(reader) } : prices
}

function readTiers(reader: MemberReader): PriceTier[] {
  const tiers = reader.list("tiers").map((tier) => readTier(reader.inner("tiers", tier)))
  const ascends = tiers.every((tier, at) => tier.aboveInputTokens > (tiers[at - 1]?.aboveInputTokens ?? 0))
  if (!ascends) reader.report("tiers", "expected the smallest above_input_tokens first")
  return tiers
}

function readTier(reader: MemberReader): PriceTier {
  const tier = { aboveInputTokens: reader.whole("above_input_tokens", { min: 1 }), ...readPrices(reader) }
  reader.refuseOthers(TIER_MEMBERS)
  return tier
}

function readPrices(reader: MemberReader): BucketPrices {
  const prices: { [Bucket in PriceBucket]?: string } = {}
  for (const name of reader.names()) {
    const bucket = BUCKETS.get(name)
    if (bucket) prices[bucket] = reader.text(name, PRICE)
  }
  return prices
}

/** The bare name and the aliases, each also with every spelling of the author as a prefix. */
function allNames(reader: MemberReader, { id, spellings }: { id: string; spellings: readonly string[] }): string[] {
  const given = reader.has("aliases") ? keepStrings(reader.list("aliases")) : []
  for (const alias of given)
    if (!NAME.like.test(alias)) reader.report("aliases", `${JSON.stringify(alias)} is not a valid model name`)
  const names = new Set([bareName(id), ...given])
  for (const name of [...names]) {
    if (!name.includes("/")) for (const author of spellings) names.add(`${author}/${name}`)
  }
  names.delete(id)
  return [...names]
}

function keepStrings(values: readonly unknown[]): string[] {
  return values.map(String)
}

function nameOf(entry: unknown): string {
  const id = typeof entry === "object" && entry !== null && "id" in entry ? entry.id : undefined
  return typeof id === "string" ? id : "a model without id"
}
