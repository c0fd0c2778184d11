// Current account balances. Accounts with open holds stay in memory, others for a while: an account's row has the
// amount posted until the last flush, and the memtables have the rest.
import type { Database } from "bun:sqlite"
import type { EntryAmounts, LedgerAccountRow } from "../../contract.ts"
import { LedgerCache } from "./ledger-cache.ts"
import { GATEWAY_ACCOUNT_IDS, type MemtablePair } from "./memtable.ts"

type CachedAccount = { -readonly [Member in keyof LedgerAccountRow]: LedgerAccountRow[Member] } & { openHolds: number }

interface AccountColumns {
  readonly id: bigint
  readonly name: string
  readonly postedNano: bigint
  readonly floorNano: bigint | null
  readonly owedNano: bigint
}

const MAX_CACHED_ACCOUNTS = 32_768
const MAX_KNOWN_KEYS = 32_768

export class LedgerAccounts {
  /** One object per account. */
  private readonly held = new Map<number, CachedAccount>()
  private readonly recent = new LedgerCache<CachedAccount>(MAX_CACHED_ACCOUNTS)
  /** Accounts by key or tenant, which every request looks up. */
  private readonly ofKeys = new Map<string, CachedAccount>()
  private readonly ofTenants = new Map<string, CachedAccount>()
  /** The keys that have an account; undefined if they are too many to list. */
  private keys: Set<string> | undefined
  /** Limited accounts that the transaction has changed. */
  private readonly moved = new Set<CachedAccount>()
  private readonly byName
  private readonly byId
  private readonly someKeys
  private readonly opened
  private readonly changedFloor

  constructor(
    database: Database,
    private readonly memtables: MemtablePair,
  ) {
    // A row of an unfinished flush counts with its value before.
    const isFlushed = "run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run')"
    const select = `SELECT id, name, iif(${isFlushed}, posted, before) AS postedNano, floor AS floorNano,
        iif(${isFlushed}, owed, owed_before) AS owedNano FROM account_rows`
    this.byName = database.query<AccountColumns, [string]>(`${select} WHERE name = ?1`)
    this.byId = database.query<AccountColumns, [number]>(`${select} WHERE id = ?1`)
    this.someKeys = database.query<{ name: string }, [number]>(
      "SELECT name FROM account_rows WHERE name >= 'key:' AND name < 'key;' LIMIT ?1",
    )
    this.opened = database.query<AccountColumns, [string, bigint | null]>(
      `INSERT INTO account_rows (name, floor, posted, run, before) VALUES (?1, ?2, 0, 0, 0)
       RETURNING id, name, posted AS postedNano, floor AS floorNano, owed AS owedNano`,
    )
    this.changedFloor = database.query("UPDATE account_rows SET floor = ?2 WHERE id = ?1")
  }

  find(name: string): CachedAccount | undefined {
    const known = this.recent.get(name)
    if (known) return known
    const columns = this.byName.get(name)
    if (!columns) return undefined
    // Every entry changes the gateway's own accounts, and no decision depends on them.
    if (columns.id <= GATEWAY_ACCOUNT_IDS["write-off"]) return this.toCachedAccount(columns)
    const account = this.held.get(Number(columns.id)) ?? this.toCachedAccount(columns)
    this.recent.set(name, account)
    return account
  }

  payer(keyId: string, tenant: string): CachedAccount | undefined {
    const own = this.ofKey(keyId)
    return own && own.floorNano !== null ? own : this.ofTenant(tenant)
  }

  get(id: number): CachedAccount {
    const known = this.held.get(id)
    if (known) return known
    const name = this.byId.get(id)?.name
    const account = name === undefined ? undefined : this.find(name)
    if (!account) throw new Error(`the ledger has no account ${id}`)
    return account
  }

  insert(name: string, floorNano: bigint | null): CachedAccount {
    const columns = this.opened.get(name, floorNano)
    if (!columns) throw new Error(`account ${name} cannot be opened`)
    const account = this.toCachedAccount(columns)
    this.recent.set(name, account)
    if (name.startsWith("key:")) this.keys?.add(name.slice("key:".length))
    return account
  }

  setFloor(id: number, floorNano: bigint | null): void {
    const account = this.get(id)
    account.floorNano = floorNano
    this.changedFloor.run(id, floorNano)
    this.moved.add(account)
  }

  /** Adds to the posted amount, and reduces the debt. */
  post(account: CachedAccount, { account: nano, debt }: EntryAmounts): void {
    account.postedNano += nano
    if (debt !== 0n) account.owedNano -= debt
    if (account.floorNano !== null) this.moved.add(account)
  }

  /** Adds to the held amount, for a new hold or an extended one. */
  hold(account: CachedAccount, { nano, isNew }: { readonly nano: bigint; readonly isNew: boolean }): void {
    account.heldNano += nano
    if (account.floorNano !== null) this.moved.add(account)
    if (!isNew) return
    if (account.openHolds === 0) this.held.set(account.id, account)
    account.openHolds += 1
  }

  /** Ends a hold. */
  release(account: CachedAccount, nano: bigint): void {
    account.heldNano -= nano
    account.openHolds -= 1
    if (account.openHolds > 0) return
    this.held.delete(account.id)
    // The transaction has changed it, and the durable state does not have that yet.
    this.recent.set(account.name, account)
  }

  /** Checks at the end of a transaction that no account is below its floor, and none has repaid more than its debt. */
  check(): void {
    for (const { name, postedNano, heldNano, floorNano, owedNano } of this.moved) {
      if (floorNano !== null && postedNano - heldNano < floorNano)
        throw new Error(`account ${name} would be below its floor`)
      if (owedNano < 0n) throw new Error(`account ${name} would pay more than it owes`)
    }
  }

  /** Called between transactions. */
  trim(): void {
    if (this.moved.size > 0) this.moved.clear()
    if (this.keys && this.keys.size > MAX_KNOWN_KEYS) this.keys = undefined
    if (!this.recent.trim()) return
    this.ofKeys.clear()
    this.ofTenants.clear()
  }

  load(): void {
    const some = this.someKeys.all(MAX_KNOWN_KEYS + 1)
    this.keys = some.length > MAX_KNOWN_KEYS ? undefined : new Set(some.map(({ name }) => name.slice("key:".length)))
  }

  forget(): void {
    for (const each of [this.held, this.recent, this.ofKeys, this.ofTenants, this.moved]) each.clear()
    this.keys = undefined
  }

  private ofKey(keyId: string): CachedAccount | undefined {
    if (this.keys && !this.keys.has(keyId)) return undefined
    return this.ofKeys.get(keyId) ?? this.cacheAccount(this.ofKeys, { name: keyId, account: this.find(`key:${keyId}`) })
  }

  private ofTenant(tenant: string): CachedAccount | undefined {
    const known = this.ofTenants.get(tenant)
    return known ?? this.cacheAccount(this.ofTenants, { name: tenant, account: this.find(`tenant:${tenant}`) })
  }

  private cacheAccount(
    accounts: Map<string, CachedAccount>,
    { name, account }: { readonly name: string; readonly account: CachedAccount | undefined },
  ): CachedAccount | undefined {
    if (account) accounts.set(name, account)
    return account
  }

  private toCachedAccount({ id: numbered, name, floorNano, ...flushed }: AccountColumns): CachedAccount {
    const id = Number(numbered)
    const postedNano = flushed.postedNano + this.memtables.posted(id)
    const owedNano = flushed.owedNano + this.memtables.owed(id)
    return { id, name, postedNano, heldNano: 0n, floorNano, owedNano, openHolds: 0 }
  }
}
