// Reads a file of facts about models: the flat list that docs/models.md describes, or the api.json of models.dev.
import { PRICE_NAMES } from "../src/canonical/model.ts"

/** A fact about one model at one host, in the members of the catalogue's files. */
export interface CatalogFact {
  readonly provider: string
  /** The model's name there. */
  readonly model: string
  readonly kind: string
  readonly contextWindow?: number | undefined
  readonly maxOutputTokens?: number | undefined
  /** Prices by the names of PRICE_NAMES. */
  readonly prices: Readonly<Record<string, string>>
}

type FactRow = Readonly<Record<string, unknown>>

/** Providers that models.dev calls otherwise. */
const MODELS_DEV_NAMES: Readonly<Record<string, string>> = {
  "amazon-bedrock": "bedrock",
  "cloudflare-workers-ai": "cloudflare",
  "fireworks-ai": "fireworks",
  "github-models": "github",
  "google-vertex": "vertex",
  moonshotai: "moonshot",
  "novita-ai": "novita",
  togetherai: "together",
}

/** Other spellings of a price's name. */
const PRICE_SPELLINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.values(PRICE_NAMES).map((name) => [name, name])),
  ...PRICE_NAMES,
  inputAudio: "audio_input",
  outputAudio: "audio_output",
  input_audio: "audio_input",
  output_audio: "audio_output",
  inputImage: "image_input",
  outputImage: "image_output",
}

export function readFacts(json: unknown): CatalogFact[] {
  const root = row(json)
  return Array.isArray(root.models) ? root.models.map((each) => flatFact(row(each))) : modelsDevFacts(root)
}

function flatFact(fact: FactRow): CatalogFact {
  return {
    provider: String(fact.provider),
    model: String(fact.upstreamId ?? fact.model),
    kind: String(fact.kind ?? "chat"),
    contextWindow: number(fact.contextWindow),
    maxOutputTokens: number(fact.maxOutputTokens),
    prices: prices(row(fact.pricing)),
  }
}

function modelsDevFacts(root: FactRow): CatalogFact[] {
  return Object.entries(root).flatMap(([provider, entry]) =>
    Object.entries(row(row(entry).models)).map(([name, each]) => {
      const { limit, cost, modalities } = row(each)
      const makes = row(modalities).output
      return {
        provider: MODELS_DEV_NAMES[provider] ?? provider,
        model: name,
        kind: Array.isArray(makes) && !makes.includes("text") ? "image" : "chat",
        contextWindow: number(row(limit).context),
        maxOutputTokens: number(row(limit).output),
        prices: prices(row(cost)),
      }
    }),
  )
}

function prices(given: FactRow): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [spelling, value] of Object.entries(given)) {
    const name = PRICE_SPELLINGS[spelling]
    if (name && (typeof value === "string" || typeof value === "number")) found[name] = plain(value)
  }
  return found
}

/** `0.30`, 0.3 and 3e-1 are one price. */
export function plain(value: string | number): string {
  const text = typeof value === "number" ? value.toFixed(9) : value
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text
}

function row(value: unknown): FactRow {
  return typeof value === "object" && value !== null ? (value as FactRow) : {}
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined
}
