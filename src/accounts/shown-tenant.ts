// A tenant as it is shown to operators.
import { type Balance, type ShownBalance, shownBalance } from "./money.ts"
import { type AskedGrant, type ShownGrant, shownGrant } from "./shown-grant.ts"
import type { Tenant } from "./tenants.ts"

export interface ShownTenant extends ShownGrant, ShownBalance {
  readonly name: string
  readonly created_at: string
}

export interface AskedTenant extends AskedGrant {
  readonly name: string
}

export function shownTenant({ name, createdAt, ...grant }: Tenant, balance: Balance | undefined): ShownTenant {
  return { name, ...shownGrant(grant), ...shownBalance(balance), created_at: new Date(createdAt).toISOString() }
}
