// Tenants: made, listed, changed.
import { grantWishOf } from "../accounts/shown-grant.ts"
import { shownTenant } from "../accounts/shown-tenant.ts"
import type { Tenant, Tenants } from "../accounts/tenants.ts"
import type { Json } from "../canonical/json.ts"
import { askedGrant, changes, optionals, shownGrant } from "./grant-schema.ts"
import { type AnyAdminRoute, BODY_LIMIT, route } from "./route.ts"
import { list, object, required, text, time } from "./schema.ts"

const shown = object({ name: required(text()), ...shownGrant, created_at: required(time()) })
const asked = object({ name: required(text({ about: "As its keys name it." })), ...optionals(askedGrant) })

const path = "/admin/v1/tenants"
const one = `${path}/{name}`
const asking = { who: "administrator", bodyLimit: 0 } as const
const telling = { who: "administrator", bodyLimit: BODY_LIMIT } as const

export function tenantRoutes(tenants: Tenants): AnyAdminRoute[] {
  const told = (tenant: Tenant) => ({ ...shownTenant(tenant) }) as Json
  return [
    route({
      ...asking,
      method: "GET",
      path,
      summary: "List the tenants that have limits; others, which keys only name, have none.",
      gives: object({ tenants: required(list(shown, { max: 1_000_000 })) }),
      handle: () => ({ tenants: tenants.list().map(told) }),
    }),
    route({
      ...telling,
      method: "POST",
      path,
      summary: "Create a tenant with limits for all its keys together.",
      takes: asked,
      gives: shown,
      status: 201,
      handle: ({ body: { name, ...limits } }) => told(tenants.create(name, grantWishOf(limits))),
    }),
    route({
      ...asking,
      method: "GET",
      path: one,
      summary: "Show a tenant.",
      gives: shown,
      handle: ({ parameters: { name = "" } }) => told(tenants.get(name)),
    }),
    route({
      ...telling,
      method: "PATCH",
      path: one,
      summary: "Change a tenant's limits; null takes one away. Its keys hold no more from the next request on.",
      takes: changes({}, askedGrant),
      gives: shown,
      handle: ({ parameters: { name = "" }, body }) => told(tenants.update(name, grantWishOf(body))),
    }),
  ]
}
