// Schemas for the grant of a key or tenant.

import { MOST_AT_ONCE, MOST_PER_MINUTE } from "../access/grant.ts"
import { object, optional, required } from "../canonical/schema/object-schema.ts"
import { boolean, integer, list, nullable, text, time } from "../canonical/schema/value-schema.ts"

export const usdSchema = text({ max: 20, about: "Decimal USD, such as 12.50." })
const perMinute = integer({ min: 1, max: MOST_PER_MINUTE })
const budgets = object({
  day: optional(usdSchema),
  week: optional(usdSchema),
  month: optional(usdSchema),
  total: optional(usdSchema),
})

export const grantInputSchemas = {
  models: list(text({ about: "A model id, or a pattern such as openai/*." })),
  protocols: list(text({ about: "A protocol's id, or openai, anthropic, gemini." })),
  requests_per_minute: perMinute,
  tokens_per_minute: perMinute,
  concurrent_requests: integer({ min: 1, max: MOST_AT_ONCE }),
  strict: boolean,
  budgets,
}

export const grantViewMembers = {
  models: required(nullable(grantInputSchemas.models)),
  protocols: required(nullable(grantInputSchemas.protocols)),
  requests_per_minute: required(nullable(perMinute)),
  tokens_per_minute: required(nullable(perMinute)),
  concurrent_requests: required(nullable(grantInputSchemas.concurrent_requests)),
  strict: required(boolean),
  budgets: required(budgets),
}

/** Balance of a key or tenant. */
export const balanceViewMembers = {
  balance: required(nullable(text({ about: "Amount that can still be spent, in decimal USD; null: unlimited." }))),
  held: required(text({ about: "Amount held for running requests, in decimal USD." })),
  debt: optional(
    text({ about: "Cost of requests beyond the balance, in decimal USD; the next top-up pays it first." }),
  ),
}

export const spendingViewMembers = {
  spending: required(
    list(
      object({
        of: required(text({ about: "Owner of the budget: key or tenant." })),
        period: required(text({ about: "day, week, month or total." })),
        limit: required(text()),
        remaining: required(text({ about: "Decimal USD." })),
        resets_at: required(nullable(time)),
      }),
    ),
  ),
}

export const topUpSchema = object({
  usd: required(usdSchema),
  event_id: optional(text({ about: "A top-up with the same event id is booked only once." })),
})
