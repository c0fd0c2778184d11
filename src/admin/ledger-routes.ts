// Administration routes for the ledger: receipts, usage and verification.

import { object, optional, required } from "../canonical/schema/object-schema.ts"
import {
  anyObject,
  boolean,
  date,
  integer,
  list,
  nullable,
  numeral,
  text,
  time,
} from "../canonical/schema/value-schema.ts"
import { type AnyAdminRoute, adminRoute } from "./admin-route.ts"
import type { LedgerService } from "./services/ledger-service.ts"

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const amount = text({ about: "Decimal USD." })

const line = object({
  bucket: required(text()),
  units: required(count),
  price: required(text({ about: "USD per million tokens, or per image." })),
  tier: required(nullable(count)),
  amount: required(text({ about: "Exact decimal USD; only the sum is rounded, up to a nano-USD." })),
})
export const receiptSchema = object({
  id: required(text()),
  time: required(time),
  tenant: required(text()),
  key: required(text()),
  outcome: required(text({ about: "settled, released (nothing was owed), or recovered (the gateway was killed)." })),
  cost: required(amount),
  paid: required(amount),
  written_off: required(text({ about: "Cost of estimated usage that the balance did not cover." })),
  in_suspense: required(text({ about: "Amount that was held when the gateway was killed and may not be owed." })),
  owed: optional(
    text({ about: "Cost of reported usage that the balance did not cover: a debt of the paying account." }),
  ),
  returned: optional(text({ about: "Amount returned from suspense." })),
  model: required(nullable(text())),
  provider: required(nullable(text())),
  usage: required(nullable(anyObject)),
  price_version: required(nullable(text())),
  prices: required(nullable(anyObject)),
  formula: required(list(line)),
  recomputed_cost: required(nullable(amount)),
  as_booked: required(nullable(boolean)),
  facts: required(nullable(anyObject)),
})

const usage = object({
  date: required(date),
  tenant: required(text()),
  key: required(text()),
  model: required(text()),
  provider: required(text()),
  requests: required(count),
  input: required(count),
  cache_read: required(count),
  cache_write: required(count),
  cache_write_1h: required(count),
  audio_input: required(count),
  image_input: required(count),
  output: required(count),
  reasoning: required(count),
  audio_output: required(count),
  image_output: required(count),
  images: required(count),
  paid: required(amount),
})
const usageQuerySchema = object({
  from: optional(date),
  to: optional(date),
  tenant: optional(text()),
  key: optional(text()),
  model: optional(text()),
  after: optional(text({ max: 5000, about: "The `next` value of the previous page." })),
  limit: optional(numeral({ min: 1, max: 1000 })),
})
const problem = object({ invariant: required(text()), what: required(text({ max: 10_000 })) })

const readOptions = { access: "administrator", bodyLimit: 0 } as const

export function ledgerRoutes(service: LedgerService): AnyAdminRoute[] {
  return [
    adminRoute({
      ...readOptions,
      method: "GET",
      path: "/admin/v1/receipts/{id}",
      summary: "Show what a request cost and how the cost was calculated, by its x-request-id.",
      responseSchema: receiptSchema,
      handle: ({ parameters: { id = "" } }) => service.receipt(id),
    }),
    adminRoute({
      ...readOptions,
      method: "GET",
      path: "/admin/v1/usage",
      summary: "List usage per day, key, model and provider (default: from the first of this month).",
      querySchema: usageQuerySchema,
      responseSchema: object({ usage: required(list(usage)), next: required(nullable(text({ max: 5000 }))) }),
      handle: ({ query }) => service.usage(query),
    }),
    adminRoute({
      ...readOptions,
      method: "POST",
      path: "/admin/v1/ledger/verify",
      summary: "Verify the ledger's invariants over all booked entries, while requests continue.",
      responseSchema: object({ sound: required(boolean), problems: required(list(problem, { max: 1_000_000 })) }),
      handle: () => service.verify(),
    }),
  ]
}
