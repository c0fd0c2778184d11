// API keys: created, listed, changed, funded, rotated, revoked and authenticated.
import { randomUUID } from "node:crypto"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { Secret } from "../config/secret.ts"
import type { KeyRow, KeyTable, ModelNameMapping, TenantTable } from "../store/contract.ts"
import { AddressRanges } from "./address-ranges.ts"
import { type BalanceService, type BalanceSummary, keyAccountName } from "./balance-service.ts"
import { type ApiKey, type Caller, toApiKey } from "./caller.ts"
import { applyGrantChange, checkWithinTenant, type GrantChange, UNBOUNDED } from "./grant.ts"
import { KeyAuthenticator } from "./key-authenticator.ts"
import { keyHint, mintKey } from "./key-text.ts"
import { checkModelMap } from "./model-map.ts"
import { TenantRegistry } from "./tenant-registry.ts"
import { withStoreErrors } from "./with-store-errors.ts"

export type { ApiKey } from "./caller.ts"

/** Changes to a key: members left out stay as they are, null removes a bound. */
export interface KeyChange extends GrantChange {
  readonly name?: string
  readonly tenant?: string
  readonly addresses?: readonly string[] | null
  readonly keepAnswers?: boolean | null
  readonly strictBalance?: boolean | null
  readonly hedge?: boolean | null
  readonly modelMap?: readonly ModelNameMapping[] | null
  readonly expiresAt?: number | null
}

export interface KeyCreation extends KeyChange {
  readonly name: string
}

/** A key together with its text, which is shown only once. */
export interface MintedKey {
  readonly key: ApiKey
  readonly text: string
  /** The time until which the previous text is accepted, if there was one. */
  readonly previousUntil?: number
}

export interface KeyRegistryOptions {
  readonly table: KeyTable
  readonly tenants: TenantTable
  readonly balances: BalanceService
  /** The first makes new hashes; all of them are accepted. */
  readonly secrets: readonly Secret[]
  readonly now?: () => number
}

const DEFAULT_GRACE_MS = 24 * 60 * 60 * 1000

export class KeyRegistry {
  readonly tenants: TenantRegistry
  private readonly authenticator: KeyAuthenticator
  private readonly table: KeyTable
  private readonly now: () => number

  constructor(private readonly options: KeyRegistryOptions) {
    const { balances, secrets, now = Date.now } = options
    const table = withStoreErrors(options.table)
    this.table = table
    this.now = now
    const onChange = (tenant: string) => this.authenticator.changes.noteTenant(tenant)
    this.tenants = new TenantRegistry({ table: withStoreErrors(options.tenants), balances, now, onChange })
    this.authenticator = new KeyAuthenticator({ table, secrets, now, tenantOf: (name) => this.tenants.find(name) })
  }

  /** The key pays from its tenant's balance. */
  create(creation: KeyCreation): MintedKey {
    return this.insert(creation, { ownBalance: false })
  }

  /** Creates a key with its own balance; if the amount cannot be booked, the key is not usable. */
  async createFunded(creation: KeyCreation, nanoUsd: bigint): Promise<MintedKey> {
    const minted = this.insert(creation, { ownBalance: true })
    const { id } = minted.key
    const { balances } = this.options
    try {
      await balances.setFloor(keyAccountName(id), 0n)
      const topUp = { account: keyAccountName(id), amountNano: nanoUsd, eventId: `${id} opening`, at: this.now() }
      if (nanoUsd > 0n) await balances.topUp(topUp)
      return minted
    } catch (thrown) {
      this.revoke(id)
      throw thrown
    }
  }

  /** Adds to the key's own balance, once per event id; it is created if needed. */
  async topUp(id: string, { nanoUsd, eventId }: { nanoUsd: bigint; eventId: string }): Promise<ApiKey> {
    const key = this.get(id)
    await this.options.balances.topUp({ account: keyAccountName(id), amountNano: nanoUsd, eventId, at: this.now() })
    return key.ownBalance ? key : this.setOwnBalance(id, true)
  }

  /**
   * Sets if the key pays from its own balance. A balance that is switched off is kept for when it is switched on again.
   */
  async setOwnBalance(id: string, ownBalance: boolean): Promise<ApiKey> {
    this.row(id)
    const { balances } = this.options
    const account = keyAccountName(id)
    if (ownBalance) await balances.setFloor(account, 0n)
    else if (balances.balance(account)) await balances.setFloor(account, null)
    const row = { ...this.row(id), ownBalance }
    this.replace(row)
    return toApiKey(row)
  }

  /** The balance that the key pays from: its own or its tenant's. Undefined if nothing was ever booked there. */
  balanceOf({ id, tenant, ownBalance }: ApiKey): BalanceSummary | undefined {
    return ownBalance ? this.options.balances.balance(keyAccountName(id)) : this.tenants.balanceOf(tenant)
  }

  /** Applies from the next request on. */
  update(id: string, change: KeyChange): ApiKey {
    const row = this.applyChange(this.row(id), change)
    this.replace(row)
    return toApiKey(row)
  }

  get(id: string): ApiKey {
    return toApiKey(this.row(id))
  }

  list(): ApiKey[] {
    return this.table.list().map(toApiKey)
  }

  isEmpty(): boolean {
    return this.table.count() === 0
  }

  /** Replaces the key's text; the old one is accepted for `graceMs` more. */
  rotate(id: string, { graceMs = DEFAULT_GRACE_MS }: { graceMs?: number } = {}): MintedKey {
    const row = this.row(id)
    if (row.revokedAt !== null) {
      throw new GatewayError("invalid_parameter", `Key ${id} is revoked and cannot be changed. Create a new key.`, {
        param: "id",
      })
    }
    const text = mintKey()
    const previousUntil = this.now() + graceMs
    const rotated: KeyRow = {
      ...row,
      hash: this.authenticator.hash(text),
      hint: keyHint(text),
      previousHash: row.hash,
      previousUntil,
    }
    this.replace(rotated)
    return { key: toApiKey(rotated), text, previousUntil }
  }

  /** Rejects the key from now on. Revoking twice has no further effect. */
  revoke(id: string): ApiKey {
    const row = this.row(id)
    const revoked: KeyRow = { ...row, revokedAt: row.revokedAt ?? this.now() }
    this.replace(revoked)
    return toApiKey(revoked)
  }

  /** The caller that holds this key; throws a GatewayError with the reason if the key is not valid. */
  authenticate(text: string): Caller {
    return this.authenticator.authenticate(text)
  }

  private insert(creation: KeyCreation, { ownBalance }: { ownBalance: boolean }): MintedKey {
    const text = mintKey()
    const blank: KeyRow = {
      id: `key_${randomUUID().replaceAll("-", "").slice(0, 16)}`,
      name: creation.name,
      tenant: "default",
      hash: this.authenticator.hash(text),
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
    const row = this.applyChange(blank, { tenant: blank.tenant, ...creation })
    this.table.insert(row)
    return { key: toApiKey(row), text }
  }

  /** The row with the changes applied; never more than its tenant allows. */
  private applyChange(row: KeyRow, change: KeyChange) {
    const { name, tenant, addresses, keepAnswers, strictBalance, hedge, modelMap, expiresAt, ...grantChange } = change
    if (modelMap) checkModelMap(modelMap)
    if (addresses) new AddressRanges(addresses)
    const grant = applyGrantChange(row, grantChange)
    const bound = this.tenants.find(tenant ?? row.tenant)
    const moves = tenant !== undefined && tenant !== row.tenant
    // A key that moves is checked with its whole grant, except for an inherited `strict: false`.
    if (bound) checkWithinTenant(moves ? { ...grant, strict: grantChange.strict ?? null } : grantChange, bound)
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
    this.authenticator.changes.noteKey(row.id)
  }
}
