// A tenant as it is shown to operators.
import { type AskedGrant, type ShownGrant, shownGrant } from "./shown-grant.ts"
import type { Tenant } from "./tenants.ts"

export interface ShownTenant extends ShownGrant {
  readonly name: string
  readonly created_at: string
}

export interface AskedTenant extends AskedGrant {
  readonly name: string
}

export function shownTenant({ name, createdAt, ...grant }: Tenant): ShownTenant {
  return { name, ...shownGrant(grant), created_at: new Date(createdAt).toISOString() }
}
