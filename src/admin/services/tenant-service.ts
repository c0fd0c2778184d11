// Admin operations on tenants, with their input and view types.
import { randomUUID } from "node:crypto"
import { budgetsInForce } from "../../access/budgets-in-force.ts"
import { parseUsd } from "../../access/parse-usd.ts"
import type { Tenant, TenantRegistry } from "../../access/tenant-registry.ts"
import { type GrantInput, readGrantInput } from "../../access/views/grant-view.ts"
import { type TenantInput, type TenantView, toTenantView } from "../../access/views/tenant-view.ts"
import type { KeyServiceOptions, TopUpInput } from "./key-service.ts"
import { type SpendingView, toSpendingViews } from "./spending-view.ts"
import { withSync } from "./with-sync.ts"

interface TenantServiceOptions extends Pick<KeyServiceOptions, "ledger" | "sync" | "now"> {
  readonly tenants: TenantRegistry
}

export class TenantService {
  constructor(private readonly options: TenantServiceOptions) {}

  async create({ name, ...grant }: TenantInput): Promise<TenantView> {
    const { tenants, sync } = this.options
    return this.toView(await withSync(tenants.create(name, readGrantInput(grant)), sync))
  }

  async list(): Promise<readonly TenantView[]> {
    return this.options.tenants.list().map((tenant) => this.toView(tenant))
  }

  async get(name: string): Promise<TenantView & { readonly spending: readonly SpendingView[] }> {
    const { tenants, ledger, now } = this.options
    const tenant = tenants.get(name)
    const budgets = budgetsInForce({}, tenant.budgets)
    const spending = toSpendingViews({ id: "", tenant: name, budgets }, { ledger, at: now() })
    return { ...this.toView(tenant), spending }
  }

  async update(name: string, input: GrantInput): Promise<TenantView> {
    const { tenants, sync } = this.options
    return this.toView(await withSync(tenants.update(name, readGrantInput(input)), sync))
  }

  async topUp(name: string, { usd, event_id }: TopUpInput): Promise<TenantView> {
    const nanoUsd = parseUsd(usd, "usd")
    const { tenants, sync } = this.options
    return this.toView(await withSync(tenants.topUp(name, { nanoUsd, eventId: event_id ?? randomUUID() }), sync))
  }

  private toView(tenant: Tenant): TenantView {
    return toTenantView(tenant, this.options.tenants.balanceOf(tenant.name))
  }
}
