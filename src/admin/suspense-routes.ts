// Administration routes for suspense: amounts that requests held when the gateway was killed and that may not be owed.

import { object, optional, required } from "../canonical/schema/object-schema.ts"
import { integer, list, nullable, numeral, text, time } from "../canonical/schema/value-schema.ts"
import { type AnyAdminRoute, adminRoute, BODY_LIMIT } from "./admin-route.ts"
import { usdSchema } from "./grant-schema.ts"
import { receiptSchema } from "./ledger-routes.ts"
import type { SuspenseService } from "./services/suspense-service.ts"

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const amount = text({ about: "Decimal USD." })

const suspended = object({
  id: required(text({ about: "The x-request-id of the request." })),
  tenant: required(text()),
  key: required(text()),
  amount: required(amount),
  since: required(time),
  returns_at: required(time),
})
const page = object({
  suspense: required(list(suspended)),
  next: required(nullable(text({ about: "Send it as `after` to get the next page; null on the last page." }))),
  count: required(count),
  total: required(text({ about: "Total in suspense over all requests, in decimal USD." })),
})
const query = object({
  after: optional(numeral({ min: 0, max: Number.MAX_SAFE_INTEGER })),
  limit: optional(numeral({ min: 1, max: 1000 })),
})

const path = "/admin/v1/ledger/suspense"
const readOptions = { access: "administrator", bodyLimit: 0 } as const

export function suspenseRoutes(service: SuspenseService): AnyAdminRoute[] {
  return [
    adminRoute({
      ...readOptions,
      method: "GET",
      path,
      summary: "List amounts in suspense, of requests that were running when the gateway was killed, oldest first.",
      querySchema: query,
      responseSchema: page,
      handle: ({ query: { after, limit } }) =>
        service.list({ ...(after !== undefined && { after: String(after) }), ...(limit !== undefined && { limit }) }),
    }),
    adminRoute({
      ...readOptions,
      method: "POST",
      path: `${path}/return`,
      summary: "Return all amounts in suspense to the paying accounts.",
      responseSchema: object({ returned: required(count), amount: required(amount) }),
      handle: () => service.returnAll(),
    }),
    adminRoute({
      access: "administrator",
      bodyLimit: BODY_LIMIT,
      method: "POST",
      path: `${path}/{id}/settle`,
      summary: "Charge all or part of a request's amount in suspense and return the rest. Idempotent.",
      bodySchema: object({ usd: optional(usdSchema) }),
      responseSchema: receiptSchema,
      handle: ({ parameters: { id = "" }, body }) => service.settle(id, body),
    }),
    adminRoute({
      ...readOptions,
      method: "POST",
      path: `${path}/{id}/return`,
      summary: "Return a request's amount in suspense. Idempotent.",
      responseSchema: receiptSchema,
      handle: ({ parameters: { id = "" } }) => service.return(id),
    }),
  ]
}
