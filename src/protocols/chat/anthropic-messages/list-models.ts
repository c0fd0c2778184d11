// Encodes models as Anthropic's listing, in pages if the caller requests them.
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Json } from "../../../canonical/json.ts"
import type { ModelCard } from "../../../canonical/model.ts"
import type { ModelListing } from "../../contract.ts"

export const listing: ModelListing = { over: ["anthropic-messages"], encodeModel, encodeModels }

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 1000

function encodeModel(card: ModelCard): Json {
  return {
    id: card.id,
    type: "model",
    display_name: card.displayName,
    created_at: new Date(card.created * 1000).toISOString().replace(".000Z", "Z"),
    ...inputLimit(card),
    ...(card.maxOutputTokens !== undefined && { max_tokens: card.maxOutputTokens }),
  }
}

/** The input limit: the context window, unless the model accepts less. */
function inputLimit({ maxInputTokens, contextWindow }: ModelCard): { max_input_tokens?: number } {
  const limit = maxInputTokens ?? contextWindow
  return limit === undefined ? {} : { max_input_tokens: limit }
}

function encodeModels(cards: readonly ModelCard[], query: URLSearchParams): Json {
  const { start, end } = pageOf(cards, query)
  const page = cards.slice(start, end)
  const before = query.has("before_id")
  return {
    data: page.map(encodeModel),
    has_more: before ? start > 0 : end < cards.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

/** The whole list if there is no paging parameter. */
function pageOf(cards: readonly ModelCard[], query: URLSearchParams): { start: number; end: number } {
  const after = query.get("after_id")
  const before = query.get("before_id")
  if (after !== null && before !== null) throw invalid("after_id", "cannot be given together with `before_id`")
  const limit = limitOf(query.get("limit"))
  if (after !== null) {
    const start = placeOf(cards, after, "after_id") + 1
    return { start, end: Math.min(cards.length, start + (limit ?? DEFAULT_LIMIT)) }
  }
  if (before !== null) {
    const end = placeOf(cards, before, "before_id")
    return { start: Math.max(0, end - (limit ?? DEFAULT_LIMIT)), end }
  }
  return { start: 0, end: Math.min(cards.length, limit ?? cards.length) }
}

function limitOf(text: string | null): number | undefined {
  if (text === null) return undefined
  const limit = Number(text)
  if (!/^\d+$/.test(text) || limit < 1 || limit > MAX_LIMIT) {
    throw invalid("limit", `must be a whole number from 1 to ${MAX_LIMIT}`)
  }
  return limit
}

function placeOf(cards: readonly ModelCard[], id: string, param: string): number {
  const place = cards.findIndex((card) => card.id === id)
  if (place < 0) throw invalid(param, "must be the id of a model in this list")
  return place
}

function invalid(param: string, rule: string): GatewayError {
  return new GatewayError("invalid_parameter", `\`${param}\` ${rule}.`, { param })
}
