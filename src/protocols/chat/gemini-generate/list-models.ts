// Encodes models as Google's listing, in pages if the caller requests them.
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Json } from "../../../canonical/json.ts"
import type { ModelCard } from "../../../canonical/model.ts"
import type { ModelListing } from "../../contract.ts"
import { nameIn } from "./endpoints.ts"

export const listing: ModelListing = { over: ["gemini-generate"], nameIn, encodeModel, encodeModels }

const MAX_PAGE_SIZE = 1000

function encodeModel(card: ModelCard): Json {
  const inputTokenLimit = card.maxInputTokens ?? card.contextWindow
  return {
    name: `models/${card.id}`,
    version: card.version,
    displayName: card.displayName,
    ...(inputTokenLimit !== undefined && { inputTokenLimit }),
    ...(card.maxOutputTokens !== undefined && { outputTokenLimit: card.maxOutputTokens }),
    supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
    ...(card.capabilities.includes("reasoning") && { thinking: true }),
  }
}

function encodeModels(cards: readonly ModelCard[], query: URLSearchParams): Json {
  const start = startOf(cards, query.get("pageToken") ?? query.get("page_token"))
  const end = start + (pageSize(query.get("pageSize") ?? query.get("page_size")) ?? cards.length)
  const page = cards.slice(start, end)
  const last = page.at(-1)
  return {
    models: page.map(encodeModel),
    ...(last && end < cards.length && { nextPageToken: tokenOf(last) }),
  }
}

function pageSize(text: string | null): number | undefined {
  if (text === null) return undefined
  const size = Number(text)
  if (/^\d{1,4}$/.test(text) && size >= 1 && size <= MAX_PAGE_SIZE) return size
  throw invalid("pageSize", `a whole number from 1 to ${MAX_PAGE_SIZE}`)
}

/** A page begins after the last model of the previous page, so that added and removed models shift nothing. */
function startOf(cards: readonly ModelCard[], token: string | null): number {
  if (token === null || token === "") return 0
  const place = cards.findIndex((card) => tokenOf(card) === token)
  if (place < 0) throw invalid("pageToken", "a `nextPageToken` of this list; begin again without it")
  return place + 1
}

function tokenOf({ id }: ModelCard): string {
  return Buffer.from(id).toString("base64url")
}

function invalid(param: string, expected: string): GatewayError {
  return new GatewayError("invalid_parameter", `\`${param}\` must be ${expected}.`, { param })
}
