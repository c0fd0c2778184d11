// Tenants: the owners of keys, with limits and balances that all keys of a tenant share.
import { GatewayError } from "../canonical/gateway-error.ts"
import type { TenantRow, TenantTable } from "../store/contract.ts"
import { type BalanceService, type BalanceSummary, tenantAccountName } from "./balance-service.ts"
import { applyGrantChange, type GrantChange, UNBOUNDED } from "./grant.ts"
import { LruCache } from "./lru-cache.ts"

export type Tenant = TenantRow

interface TenantRegistryOptions {
  readonly table: TenantTable
  readonly balances: BalanceService
  readonly now: () => number
  /** Invalidates cached facts about this tenant. */
  readonly onChange: (name: string) => void
}

/** Cached tenants, including names that were never created: every authenticated key looks its tenant up. */
const MAX_CACHED_TENANTS = 10_000

export class TenantRegistry {
  private readonly known = new LruCache<{ readonly row: Tenant | undefined }>(MAX_CACHED_TENANTS)

  constructor(private readonly options: TenantRegistryOptions) {}

  create(name: string, change: GrantChange = {}): Tenant {
    if (this.find(name)) {
      const message = `The tenant ${name} already exists. To change it: trivium tenants update ${name}`
      throw new GatewayError("invalid_parameter", message, { param: "name" })
    }
    const row: TenantRow = { name, createdAt: this.options.now(), ...applyGrantChange(UNBOUNDED, change) }
    this.options.table.insert(row)
    this.invalidate(name)
    return row
  }

  /** A tenant that was never created has no limits. */
  find(name: string): Tenant | undefined {
    const known = this.known.get(name)
    if (known) return known.row
    const row = this.options.table.find(name)
    this.known.set(name, { row })
    return row
  }

  get(name: string): Tenant {
    const row = this.find(name)
    if (row) return row
    const message = `There is no tenant ${name}. Create it: trivium tenants create ${name}`
    throw new GatewayError("resource_not_found", message)
  }

  list(): Tenant[] {
    return this.options.table.list()
  }

  /** Applies to its keys from the next request on. */
  update(name: string, change: GrantChange): Tenant {
    const row = this.get(name)
    const changed: TenantRow = { ...row, ...applyGrantChange(row, change) }
    this.options.table.replace(changed)
    this.invalidate(name)
    return changed
  }

  /** Adds to the tenant's balance, once per event id; before the first top-up the balance is unlimited. */
  async topUp(name: string, { nanoUsd, eventId }: { nanoUsd: bigint; eventId: string }): Promise<Tenant> {
    const row = this.get(name)
    const { balances, now } = this.options
    await balances.topUp({ account: tenantAccountName(name), amountNano: nanoUsd, eventId, at: now() })
    return row
  }

  /** Undefined if nothing was ever booked. */
  balanceOf(name: string): BalanceSummary | undefined {
    return this.options.balances.balance(tenantAccountName(name))
  }

  private invalidate(name: string): void {
    this.known.delete(name)
    this.options.onChange(name)
  }
}
