// API keys: made, listed, changed, paid for, rotated, revoked, and recognised when a caller presents one.
import { randomUUID } from "node:crypto"
import { GatewayError } from "../canonical/error.ts"
import type { Secret } from "../config/secret.ts"
import type { KeyRow, KeyTable, ModelMapping, TenantTable } from "../store/contract.ts"
import { AddressRanges } from "./addresses.ts"
import { type Caller, type Key, visible } from "./caller.ts"
import { changedGrant, checkWithin, type GrantWish, UNBOUNDED } from "./grant.ts"
import { keyHint, mintKey } from "./key-text.ts"
import { checkModelMap } from "./model-map.ts"
import { type Balance, keyAccount, type Money } from "./money.ts"
import { Recognition } from "./recognition.ts"
import { Tenants } from "./tenants.ts"
import { toldTable } from "./told-table.ts"

export type { Key } from "./caller.ts"

/** What is asked of a key; what is left out stays as it is, and null takes a bound away. */
export interface KeyChange extends GrantWish {
  readonly name?: string
  readonly tenant?: string
  readonly addresses?: readonly string[] | null
  readonly keepAnswers?: boolean | null
  readonly strictBalance?: boolean | null
  readonly hedge?: boolean | null
  readonly modelMap?: readonly ModelMapping[] | null
  readonly expiresAt?: number | null
}

export interface KeyWish extends KeyChange {
  readonly name: string
}

/** A key together with its text, which is shown this once. */
export interface MintedKey {
  readonly key: Key
  readonly text: string
  /** Until when the text before it is still taken, where there was one. */
  readonly previousUntil?: number
}

export interface KeysOptions {
  readonly table: KeyTable
  readonly tenants: TenantTable
  readonly money: Money
  /** The first makes new hashes; any is taken. */
  readonly secrets: readonly Secret[]
  readonly now?: () => number
}

const DEFAULT_GRACE_MS = 24 * 60 * 60 * 1000

export class Keys {
  readonly tenants: Tenants
  private readonly recognition: Recognition
  private readonly table: KeyTable
  private readonly now: () => number

  constructor(private readonly options: KeysOptions) {
    const { money, secrets, now = Date.now } = options
    const table = toldTable(options.table)
    this.table = table
    this.now = now
    const onChange = (tenant: string) => this.recognition.changes.ofTenant(tenant)
    this.tenants = new Tenants({ table: toldTable(options.tenants), money, now, onChange })
    this.recognition = new Recognition({ table, secrets, now, tenantOf: (name) => this.tenants.find(name) })
  }

  /** It pays from its tenant's balance. */
  create(wish: KeyWish): MintedKey {
    return this.insert(wish, { ownBalance: false })
  }

  /** As `create`, with a balance of its own; a key whose money could not be booked opens nothing. */
  async createFunded(wish: KeyWish, nanoUsd: bigint): Promise<MintedKey> {
    const minted = this.insert(wish, { ownBalance: true })
    const { id } = minted.key
    const { money } = this.options
    try {
      await money.setFloor(keyAccount(id), 0n)
      const topUp = { account: keyAccount(id), amountNano: nanoUsd, eventId: `${id} opening`, at: this.now() }
      if (nanoUsd > 0n) await money.topUp(topUp)
      return minted
    } catch (thrown) {
      this.revoke(id)
      throw thrown
    }
  }

  /** Adds to a key's balance, which it has from then on: once for one event id. */
  async topUp(id: string, { nanoUsd, eventId }: { nanoUsd: bigint; eventId: string }): Promise<Key> {
    const key = this.get(id)
    await this.options.money.topUp({ account: keyAccount(id), amountNano: nanoUsd, eventId, at: this.now() })
    return key.ownBalance ? key : this.setOwnBalance(id, true)
  }

  /** Whether it pays from a balance of its own. What is left of one that is taken away is there when it is given back. */
  async setOwnBalance(id: string, ownBalance: boolean): Promise<Key> {
    this.row(id)
    const { money } = this.options
    const account = keyAccount(id)
    if (ownBalance) await money.setFloor(account, 0n)
    else if (money.balance(account)) await money.setFloor(account, null)
    const row = { ...this.row(id), ownBalance }
    this.replace(row)
    return visible(row)
  }

  /** Of what it pays from: its own balance, or its tenant's. Undefined where nothing was ever booked there. */
  balanceOf({ id, tenant, ownBalance }: Key): Balance | undefined {
    return ownBalance ? this.options.money.balance(keyAccount(id)) : this.tenants.balanceOf(tenant)
  }

  /** Holds from the next request on. */
  update(id: string, change: KeyChange): Key {
    const row = this.changed(this.row(id), change)
    this.replace(row)
    return visible(row)
  }

  /** The key of this id. */
  get(id: string): Key {
    return visible(this.row(id))
  }

  list(): Key[] {
    return this.table.list().map(visible)
  }

  isEmpty(): boolean {
    return this.table.count() === 0
  }

  /** A new text for the same key; the old one is taken for `graceMs` more. */
  rotate(id: string, { graceMs = DEFAULT_GRACE_MS }: { graceMs?: number } = {}): MintedKey {
    const row = this.row(id)
    if (row.revokedAt !== null) {
      throw new GatewayError("invalid_parameter", `Key ${id} is revoked; create a new one instead.`, { param: "id" })
    }
    const text = mintKey()
    const previousUntil = this.now() + graceMs
    const rotated: KeyRow = {
      ...row,
      hash: this.recognition.hash(text),
      hint: keyHint(text),
      previousHash: row.hash,
      previousUntil,
    }
    this.replace(rotated)
    return { key: visible(rotated), text, previousUntil }
  }

  /** From now on nobody is let in with it. Revoking twice is revoking once. */
  revoke(id: string): Key {
    const row = this.row(id)
    const revoked: KeyRow = { ...row, revokedAt: row.revokedAt ?? this.now() }
    this.replace(revoked)
    return visible(revoked)
  }

  /** The key a caller presents, or the GatewayError that says why it opens nothing. */
  authenticate(text: string): Caller {
    return this.recognition.authenticate(text)
  }

  private insert(wish: KeyWish, { ownBalance }: { ownBalance: boolean }): MintedKey {
    const text = mintKey()
    const blank: KeyRow = {
      id: `key_${randomUUID().replaceAll("-", "").slice(0, 16)}`,
      name: wish.name,
      tenant: "default",
      hash: this.recognition.hash(text),
      hint: keyHint(text),
      addresses: null,
      keepAnswers: false,
      ownBalance,
      strictBalance: false,
      hedge: false,
      modelMap: null,
      createdAt: this.now(),
      expiresAt: null,
      revokedAt: null,
      previousHash: null,
      previousUntil: null,
      ...UNBOUNDED,
    }
    const row = this.changed(blank, { tenant: blank.tenant, ...wish })
    this.table.insert(row)
    return { key: visible(row), text }
  }

  /** The row with what was asked for in its place; never more than its tenant holds. */
  private changed(row: KeyRow, change: KeyChange) {
    const { name, tenant, addresses, keepAnswers, strictBalance, hedge, modelMap, expiresAt, ...wish } = change
    if (modelMap) checkModelMap(modelMap)
    if (addresses) new AddressRanges(addresses)
    const grant = changedGrant(row, wish)
    const bound = this.tenants.find(tenant ?? row.tenant)
    const moves = tenant !== undefined && tenant !== row.tenant
    // A key that moves brings along what it had; not to be strict is nothing to have.
    if (bound) checkWithin(moves ? { ...grant, strict: wish.strict ?? null } : wish, bound)
    const changed: KeyRow = {
      ...row,
      ...grant,
      name: name ?? row.name,
      tenant: tenant ?? row.tenant,
      addresses: addresses === undefined ? row.addresses : addresses,
      keepAnswers: keepAnswers === undefined ? row.keepAnswers : (keepAnswers ?? false),
      strictBalance: strictBalance === undefined ? row.strictBalance : (strictBalance ?? false),
      hedge: hedge === undefined ? row.hedge : (hedge ?? false),
      modelMap: modelMap === undefined ? row.modelMap : modelMap,
      expiresAt: expiresAt === undefined ? row.expiresAt : expiresAt,
    }
    return changed
  }

  private row(id: string): KeyRow {
    const row = this.table.findById(id)
    if (!row) throw new GatewayError("resource_not_found", `There is no key ${id}. See: trivium keys list`)
    return row
  }

  private replace(row: KeyRow): void {
    this.table.replace(row)
    this.recognition.changes.ofKey(row.id)
  }
}
