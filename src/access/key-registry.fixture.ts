// In-memory tables and balances, for tests of keys.
import { GatewayError } from "../canonical/gateway-error.ts"
import { Secret } from "../config/secret.ts"
import type { KeyRow, KeyTable, TenantRow, TenantTable } from "../store/contract.ts"
import type { BalanceService } from "./balance-service.ts"
import { KeyRegistry, type KeyRegistryOptions } from "./key-registry.ts"

export type KeyRows = KeyTable & { readonly rows: Map<string, KeyRow>; broken: boolean; looks: number }

export function fakeKeyTable(): KeyRows {
  const rows = new Map<string, KeyRow>()
  return {
    rows,
    broken: false,
    looks: 0,
    insert: (row) => void rows.set(row.id, row),
    replace: (row) => void rows.set(row.id, row),
    findByHash(hash) {
      this.looks++
      if (this.broken) throw new Error("disk gone")
      return [...rows.values()].find((row) => row.hash === hash || row.previousHash === hash)
    },
    findById: (id) => rows.get(id),
    list: () => [...rows.values()],
    count: () => rows.size,
  }
}

function fakeTenantTable(): TenantTable {
  const rows = new Map<string, TenantRow>()
  return {
    insert: (row) => void rows.set(row.name, row),
    replace: (row) => void rows.set(row.name, row),
    find: (name) => rows.get(name),
    list: () => [...rows.values()],
  }
}

/** Accounts without spending. */
export interface FakeBalances extends BalanceService {
  readonly floors: Map<string, bigint | null>
  fails: boolean
}

export function fakeBalances(): FakeBalances {
  const floors = new Map<string, bigint | null>()
  const posted = new Map<string, bigint>()
  const events = new Set<string>()
  return {
    floors,
    fails: false,
    async topUp({ account, amountNano, eventId }) {
      if (this.fails) throw new GatewayError("store_unavailable", "The store is away.")
      if (events.has(eventId)) return
      events.add(eventId)
      if (floors.get(account) === undefined) floors.set(account, 0n)
      posted.set(account, (posted.get(account) ?? 0n) + amountNano)
    },
    async setFloor(account, floorNano) {
      if (this.fails) throw new GatewayError("store_unavailable", "The store is away.")
      floors.set(account, floorNano)
    },
    balance(account) {
      const floor = floors.get(account)
      if (floor === undefined) return undefined
      return { heldNano: 0n, owedNano: 0n, freeNano: floor === null ? null : (posted.get(account) ?? 0n) - floor }
    },
  }
}

export const SECRETS = [new Secret("s".repeat(32))]

export function createKeyRegistry(options: Partial<KeyRegistryOptions> = {}): KeyRegistry {
  return new KeyRegistry({
    table: fakeKeyTable(),
    tenants: fakeTenantTable(),
    balances: fakeBalances(),
    secrets: SECRETS,
    ...options,
  })
}
