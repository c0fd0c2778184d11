// A tenant as operators see it.
import { type BalanceSummary, type BalanceView, toBalanceView } from "../balance-service.ts"
import type { Tenant } from "../tenant-registry.ts"
import { type GrantInput, type GrantView, toGrantView } from "./grant-view.ts"

export interface TenantView extends GrantView, BalanceView {
  readonly name: string
  readonly created_at: string
}

export interface TenantInput extends GrantInput {
  readonly name: string
}

export function toTenantView({ name, createdAt, ...grant }: Tenant, balance: BalanceSummary | undefined): TenantView {
  return { name, ...toGrantView(grant), ...toBalanceView(balance), created_at: new Date(createdAt).toISOString() }
}
