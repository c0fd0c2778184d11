// Tenants: made, listed, changed, paid for.
import { askedGrant, changes, optionals, shownBalance, shownGrant, shownSpending, topUp } from "./grant-schema.ts"
import { type AnyAdminRoute, BODY_LIMIT, route } from "./route.ts"
import { list, object, required, text, time } from "./schema.ts"
import type { TenantDesk } from "./tenant-desk.ts"

const shown = { name: required(text()), ...shownGrant, ...shownBalance, created_at: required(time()) }
const tenant = object(shown)
const tenantNow = object({ ...shown, ...shownSpending })
const asked = object({ name: required(text({ about: "As its keys name it." })), ...optionals(askedGrant) })

const path = "/admin/v1/tenants"
const one = `${path}/{name}`
const asking = { who: "administrator", bodyLimit: 0 } as const
const telling = { who: "administrator", bodyLimit: BODY_LIMIT } as const

export function tenantRoutes(desk: TenantDesk): AnyAdminRoute[] {
  return [
    route({
      ...asking,
      method: "GET",
      path,
      summary: "List the tenants that were created; others, which keys only name, have no limits.",
      gives: object({ tenants: required(list(tenant, { max: 1_000_000 })) }),
      handle: async () => ({ tenants: await desk.list() }),
    }),
    route({
      ...telling,
      method: "POST",
      path,
      summary: "Create a tenant with limits for all its keys together.",
      takes: asked,
      gives: tenant,
      status: 201,
      handle: ({ body }) => desk.create(body),
    }),
    route({
      ...asking,
      method: "GET",
      path: one,
      summary: "Show a tenant, its balance, and what is left of its budgets.",
      gives: tenantNow,
      handle: ({ parameters: { name = "" } }) => desk.get(name),
    }),
    route({
      ...telling,
      method: "PATCH",
      path: one,
      summary: "Change a tenant's limits; null takes one away. Its keys hold no more from the next request on.",
      takes: changes({}, askedGrant),
      gives: tenant,
      handle: ({ parameters: { name = "" }, body }) => desk.update(name, body),
    }),
    route({
      ...telling,
      method: "POST",
      path: `${one}/topup`,
      summary: "Add to what a tenant's keys may spend together, which is limited from then on.",
      takes: topUp,
      gives: tenant,
      handle: ({ parameters: { name = "" }, body }) => desk.topUp(name, body),
    }),
  ]
}
