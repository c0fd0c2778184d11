// Compares the model that a provider reports with the requested one. Providers report dated names, versions and
// addresses of one model; only another model of the catalogue counts as different.
import type { Pricing } from "../canonical/model.ts"
import type { Catalog, CatalogModel } from "./catalog.ts"

interface RequestedModel {
  readonly model: CatalogModel
  /** The provider's id in the catalogue, and the model's name there. */
  readonly provider: string
  readonly upstreamModel: string
}

export interface OtherModel {
  readonly model: CatalogModel
  readonly pricing: Pricing
}

/** The priced model of the same provider that answered instead of the requested one; undefined if none did. */
export function findOtherModel(reported: string, requested: RequestedModel, catalog: Catalog): OtherModel | undefined {
  const { model, provider, upstreamModel } = requested
  if (isSameName(reported, upstreamModel) || model.aliases.some((alias) => isSameName(reported, alias)))
    return undefined
  const name = normalizeName(reported)
  const other = catalog.servedAs(provider, reported) ?? catalog.servedAs(provider, name)
  if (!other || other.targets.some((target) => target.provider === provider && target.model === upstreamModel)) {
    return undefined
  }
  const row = other.targets.find((target) => target.provider === provider)
  const pricing = row?.pricing ?? other.pricing
  return pricing && { model: other, pricing }
}

function isSameName(reported: string, known: string): boolean {
  if (reported === known) return true
  const [one, two] = [normalizeName(reported), normalizeName(known)]
  return one === two || withoutDate(one) === withoutDate(two)
}

/** The name without the path prefix that some hosts add. */
function normalizeName(name: string): string {
  return name.toLowerCase().replace(/^(?:.*\/)?models\//, "")
}

const DATE =
  /[-@](?:latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{2}-\d{4}|\d{2}-\d{2}|0\d\d|preview|exp|default)(?=-|$)/g

/** The name without the dates and release words that distinguish versions of one model. */
function withoutDate(name: string): string {
  return name.replace(DATE, "")
}
