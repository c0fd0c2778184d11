// What an operator does with tenants, as it is asked for and as it is shown.
import { randomUUID } from "node:crypto"
import { budgetsInForce } from "../accounts/budgets-in-force.ts"
import { type AskedGrant, grantWishOf } from "../accounts/shown-grant.ts"
import { type AskedTenant, type ShownTenant, shownTenant } from "../accounts/shown-tenant.ts"
import type { Tenant, Tenants } from "../accounts/tenants.ts"
import { readUsd } from "../accounts/usd.ts"
import type { AskedTopUp, KeyDeskOptions } from "./key-desk.ts"
import { type ShownSpending, shownSpending } from "./spending.ts"
import { synced } from "./synced.ts"

interface TenantDeskOptions extends Pick<KeyDeskOptions, "ledger" | "sync" | "now"> {
  readonly tenants: Tenants
}

export class TenantDesk {
  constructor(private readonly options: TenantDeskOptions) {}

  async create({ name, ...asked }: AskedTenant): Promise<ShownTenant> {
    const { tenants, sync } = this.options
    return this.shown(await synced(tenants.create(name, grantWishOf(asked)), sync))
  }

  async list(): Promise<readonly ShownTenant[]> {
    return this.options.tenants.list().map((tenant) => this.shown(tenant))
  }

  async get(name: string): Promise<ShownTenant & { readonly spending: readonly ShownSpending[] }> {
    const { tenants, ledger, now } = this.options
    const tenant = tenants.get(name)
    const budgets = budgetsInForce({}, tenant.budgets)
    const spending = shownSpending({ id: "", tenant: name, budgets }, { ledger, at: now() })
    return { ...this.shown(tenant), spending }
  }

  async update(name: string, asked: AskedGrant): Promise<ShownTenant> {
    const { tenants, sync } = this.options
    return this.shown(await synced(tenants.update(name, grantWishOf(asked)), sync))
  }

  async topUp(name: string, { usd, event_id }: AskedTopUp): Promise<ShownTenant> {
    const nanoUsd = readUsd(usd, "usd")
    const { tenants, sync } = this.options
    return this.shown(await synced(tenants.topUp(name, { nanoUsd, eventId: event_id ?? randomUUID() }), sync))
  }

  private shown(tenant: Tenant): ShownTenant {
    return shownTenant(tenant, this.options.tenants.balanceOf(tenant.name))
  }
}
