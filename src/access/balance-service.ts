// Balances of keys and tenants: the ledger operations they need, and their views.
import { usdOfNano } from "../canonical/usd.ts"

export interface BalanceSummary {
  readonly heldNano: bigint
  /** The amount that may still be spent; null if unlimited. */
  readonly freeNano: bigint | null
  /** Debt, which a top-up pays first; while there is any, nothing may be spent. */
  readonly owedNano: bigint
}

interface BalanceTopUp {
  readonly account: string
  readonly amountNano: bigint
  /** Idempotent per event id. */
  readonly eventId: string
  readonly at: number
}

/** An account without a floor is unlimited; for a key this means that its tenant pays. */
export interface BalanceService {
  topUp(topUp: BalanceTopUp): Promise<void>
  setFloor(account: string, floorNano: bigint | null): Promise<void>
  /** Undefined if there is no such account. */
  balance(account: string): BalanceSummary | undefined
}

export function keyAccountName(id: string): string {
  return `key:${id}`
}

export function tenantAccountName(name: string): string {
  return `tenant:${name}`
}

/** A balance, in decimal USD. */
export interface BalanceView {
  /** The amount that may still be spent; null if unlimited. */
  readonly balance: string | null
  /** The maximum cost of requests in flight, which may not be spent. */
  readonly held: string
  /** Cost that the balance did not cover, if any: the next top-up pays it first. */
  readonly debt?: string
}

export function toBalanceView(balance: BalanceSummary | undefined): BalanceView {
  const { freeNano = null, heldNano = 0n, owedNano = 0n } = balance ?? {}
  const debt = owedNano > 0n && { debt: usdOfNano(owedNano) }
  return { balance: freeNano === null ? null : usdOfNano(freeNano), held: usdOfNano(heldNano), ...debt }
}
