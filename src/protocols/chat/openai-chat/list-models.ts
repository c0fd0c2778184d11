// Encodes models as OpenAI's listing, with the gateway's additions.
import type { Json, JsonObject } from "../../../canonical/json.ts"
import {
  type BucketPrices,
  type ModelCard,
  PRICE_NAMES,
  type PriceBucket,
  type Pricing,
} from "../../../canonical/model.ts"
import type { ModelListing } from "../../contract.ts"

/** Lists the models of chat completions and of the other protocols under `/v1`. */
export const listing: ModelListing = {
  over: [
    "openai-chat",
    "openai-responses",
    "openai-completions",
    "openai-embeddings",
    "openai-images",
    "openai-moderations",
  ],
  encodeModel,
  encodeModels: (cards) => ({ object: "list", data: cards.map(encodeModel) }),
}

/** Decimal strings, USD per million tokens. */
function encodePricing({ tiers, ...prices }: Pricing): JsonObject {
  const above = tiers?.map(({ aboveInputTokens, ...tier }) => ({
    above_input_tokens: aboveInputTokens,
    ...encodePrices(tier),
  }))
  return { ...encodePrices(prices), ...(above && { tiers: above }) }
}

function encodePrices(prices: BucketPrices): JsonObject {
  const named: Record<string, string> = {}
  for (const [bucket, price] of Object.entries(prices)) named[PRICE_NAMES[bucket as PriceBucket]] = price
  return named
}

function encodeModel(card: ModelCard): Json {
  return {
    id: card.id,
    object: "model",
    created: card.created,
    owned_by: card.id.slice(0, card.id.indexOf("/")),
    display_name: card.displayName,
    ...(card.contextWindow !== undefined && { context_window: card.contextWindow }),
    ...(card.maxOutputTokens !== undefined && { max_output_tokens: card.maxOutputTokens }),
    kind: card.kind,
    version: card.version,
    status: card.status,
    modalities: { input: [...card.modalities.input], output: [...card.modalities.output] },
    capabilities: [...card.capabilities],
    ...(card.pricing && { pricing: encodePricing(card.pricing) }),
  }
}
