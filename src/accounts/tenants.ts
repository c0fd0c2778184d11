// Tenants: whom keys belong to, and what all keys of one may do together.
import { GatewayError } from "../canonical/error.ts"
import type { TenantRow, TenantTable } from "../store/contract.ts"
import { changedGrant, type GrantWish, UNBOUNDED } from "./grant.ts"

export type Tenant = TenantRow

interface TenantsOptions {
  readonly table: TenantTable
  readonly now: () => number
  /** What was known of a tenant does not hold any more. */
  readonly onChange: () => void
}

export class Tenants {
  constructor(private readonly options: TenantsOptions) {}

  create(name: string, wish: GrantWish = {}): Tenant {
    if (this.find(name)) {
      const message = `There is a tenant ${name} already. To change it: trivium tenants update ${name}`
      throw new GatewayError("invalid_parameter", message, { param: "name" })
    }
    const row: TenantRow = { name, createdAt: this.options.now(), ...changedGrant(UNBOUNDED, wish) }
    this.options.table.insert(row)
    this.options.onChange()
    return row
  }

  /** One that was never created has no limits. */
  find(name: string): Tenant | undefined {
    return this.options.table.find(name)
  }

  get(name: string): Tenant {
    const row = this.find(name)
    if (row) return row
    throw new GatewayError("resource_not_found", `There is no tenant ${name}. See: trivium tenants list`)
  }

  list(): Tenant[] {
    return this.options.table.list()
  }

  /** Its keys hold no more than this from the next request on. */
  update(name: string, wish: GrantWish): Tenant {
    const row = this.get(name)
    const changed: TenantRow = { ...row, ...changedGrant(row, wish) }
    this.options.table.replace(changed)
    this.options.onChange()
    return changed
  }
}
