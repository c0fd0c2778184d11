// Models as OpenAI's listing shows them, and what the gateway adds to each.
import type { Json } from "../../canonical/json.ts"
import type { ModelCard } from "../../canonical/model.ts"

export function encodeModel(card: ModelCard): Json {
  return {
    id: card.id,
    object: "model",
    created: card.created,
    owned_by: card.id.slice(0, card.id.indexOf("/")),
    display_name: card.displayName,
    ...(card.contextWindow !== undefined && { context_window: card.contextWindow }),
    ...(card.maxOutputTokens !== undefined && { max_output_tokens: card.maxOutputTokens }),
  }
}

export function encodeModels(cards: readonly ModelCard[]): Json {
  return { object: "list", data: cards.map(encodeModel) }
}
