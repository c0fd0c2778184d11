// A key as it holds at this moment: its own grant, limited by its tenant's.
import type { Grant, KeyRow } from "../store/contract.ts"
import { AddressRanges } from "./address-ranges.ts"
import { type BudgetInForce, budgetsInForce } from "./budgets-in-force.ts"
import { intersectModels, intersectProtocols } from "./scope.ts"

/** A key as its owner may see it: everything except the key itself. */
export type ApiKey = Omit<KeyRow, "hash" | "previousHash" | "previousUntil">

/**
 * Models, protocols and strictness are the effective ones; numbers are the key's own, because its tenant's are counted
 * separately.
 */
export interface Caller extends ApiKey {
  /** Limits that all keys of the tenant share. */
  readonly tenantGrant: Grant | null
  /** Its own budgets and its tenant's; every call keeps within all of them. */
  readonly budgetsInForce: readonly BudgetInForce[]
  /** Client addresses that may use the key; null if any may. */
  readonly mayComeFrom: AddressRanges | null
}

/**
 * Copied member by member: omitting members from a copy takes four times as long, and this runs for every uncached
 * caller.
 */
export function toApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    tenant: row.tenant,
    hint: row.hint,
    addresses: row.addresses,
    keepAnswers: row.keepAnswers,
    ownBalance: row.ownBalance,
    strictBalance: row.strictBalance,
    hedge: row.hedge,
    modelMap: row.modelMap,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    revokedAt: row.revokedAt,
    models: row.models,
    protocols: row.protocols,
    requestsPerMinute: row.requestsPerMinute,
    tokensPerMinute: row.tokensPerMinute,
    concurrentRequests: row.concurrentRequests,
    strict: row.strict,
    budgets: row.budgets,
  }
}

export function callerOf(row: KeyRow, tenant: Grant | undefined): Caller {
  const key = toApiKey(row)
  return {
    ...key,
    models: intersectModels(key.models, tenant?.models ?? null),
    protocols: intersectProtocols(key.protocols, tenant?.protocols ?? null),
    strict: key.strict || (tenant?.strict ?? false),
    tenantGrant: tenant ?? null,
    budgetsInForce: budgetsInForce(key.budgets, tenant?.budgets ?? {}),
    mayComeFrom: key.addresses && new AddressRanges(key.addresses),
  }
}
