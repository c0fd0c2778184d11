// Administration routes for tenants: create, list, change, top up.

import { changeSchema, object, optionalMembers, required } from "../canonical/schema/object-schema.ts"
import { list, text, time } from "../canonical/schema/value-schema.ts"
import { type AnyAdminRoute, adminRoute, BODY_LIMIT } from "./admin-route.ts"
import {
  balanceViewMembers,
  grantInputSchemas,
  grantViewMembers,
  spendingViewMembers,
  topUpSchema,
} from "./grant-schema.ts"
import type { TenantService } from "./services/tenant-service.ts"

const shown = { name: required(text()), ...grantViewMembers, ...balanceViewMembers, created_at: required(time) }
const tenant = object(shown)
const tenantNow = object({ ...shown, ...spendingViewMembers })
const creation = object({
  name: required(text({ about: "The tenant's name, as used by its keys." })),
  ...optionalMembers(grantInputSchemas),
})

const path = "/admin/v1/tenants"
const one = `${path}/{name}`
const readOptions = { access: "administrator", bodyLimit: 0 } as const
const writeOptions = { access: "administrator", bodyLimit: BODY_LIMIT } as const

export function tenantRoutes(service: TenantService): AnyAdminRoute[] {
  return [
    adminRoute({
      ...readOptions,
      method: "GET",
      path,
      summary: "List the created tenants; tenants that exist only as a name on keys have no limits.",
      responseSchema: object({ tenants: required(list(tenant, { max: 1_000_000 })) }),
      handle: async () => ({ tenants: await service.list() }),
    }),
    adminRoute({
      ...writeOptions,
      method: "POST",
      path,
      summary: "Create a tenant with limits that its keys share.",
      bodySchema: creation,
      responseSchema: tenant,
      status: 201,
      handle: ({ body }) => service.create(body),
    }),
    adminRoute({
      ...readOptions,
      method: "GET",
      path: one,
      summary: "Show a tenant, its balance, and what is left of its budgets.",
      responseSchema: tenantNow,
      handle: ({ parameters: { name = "" } }) => service.get(name),
    }),
    adminRoute({
      ...writeOptions,
      method: "PATCH",
      path: one,
      summary: "Change a tenant's limits; null removes one. They bind its keys from the next request.",
      bodySchema: changeSchema({}, grantInputSchemas),
      responseSchema: tenant,
      handle: ({ parameters: { name = "" }, body }) => service.update(name, body),
    }),
    adminRoute({
      ...writeOptions,
      method: "POST",
      path: `${one}/topup`,
      summary: "Top up a tenant's balance; from then on its keys can spend only the balance.",
      bodySchema: topUpSchema,
      responseSchema: tenant,
      handle: ({ parameters: { name = "" }, body }) => service.topUp(name, body),
    }),
  ]
}
