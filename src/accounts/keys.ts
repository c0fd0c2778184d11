// API keys: made, listed, changed, rotated, revoked, and recognised when a caller presents one.
import { createHmac, randomUUID } from "node:crypto"
import { GatewayError } from "../canonical/error.ts"
import type { Secret } from "../config/secret.ts"
import type { KeyRow, KeyTable, TenantTable } from "../store/contract.ts"
import { AddressRanges } from "./addresses.ts"
import { type Caller, callerOf, type Key, visible } from "./caller.ts"
import { changedGrant, checkWithin, type GrantWish, UNBOUNDED } from "./grant.ts"
import { isKeyText, keyHint, mintKey } from "./key-text.ts"
import type { Money } from "./money.ts"
import { Tenants } from "./tenants.ts"

export type { Key } from "./caller.ts"

/** What is asked of a key; what is left out stays as it is, and null takes a bound away. */
export interface KeyChange extends GrantWish {
  readonly name?: string
  readonly tenant?: string
  readonly addresses?: readonly string[] | null
  readonly keepAnswers?: boolean | null
  readonly ownBalance?: boolean | null
  readonly expiresAt?: number | null
}

export interface KeyWish extends KeyChange {
  readonly name: string
}

/** A key together with its text, which is shown this once. */
export interface MintedKey {
  readonly key: Key
  readonly text: string
}

export interface KeysOptions {
  readonly table: KeyTable
  /** The first makes new hashes; any is taken. */
  readonly secrets: readonly Secret[]
  /** Without it no tenant has limits. */
  readonly tenants?: TenantTable
  /** Without it no key has a balance. */
  readonly money?: Money
  readonly now?: () => number
}

const NO_TENANTS: TenantTable = {
  insert: () => {
    throw new Error("there is no table of tenants")
  },
  find: () => undefined,
  list: () => [],
  replace: () => {},
}

const DEFAULT_GRACE_MS = 24 * 60 * 60 * 1000
/** Recognised keys kept in memory, so that a request costs no hash and no query. */
const MAX_KNOWN = 10_000

export class Keys {
  readonly tenants: Tenants
  private readonly known = new Map<string, Caller>()
  private readonly now: () => number

  constructor(private readonly options: KeysOptions) {
    this.now = options.now ?? Date.now
    const onChange = () => this.known.clear()
    this.tenants = new Tenants({ table: options.tenants ?? NO_TENANTS, now: this.now, onChange })
  }

  create(wish: KeyWish): MintedKey {
    const text = mintKey()
    const blank: KeyRow = {
      id: `key_${randomUUID().replaceAll("-", "").slice(0, 16)}`,
      name: wish.name,
      tenant: "default",
      hash: this.hash(text),
      hint: keyHint(text),
      addresses: null,
      keepAnswers: false,
      ownBalance: false,
      createdAt: this.now(),
      expiresAt: null,
      revokedAt: null,
      previousHash: null,
      previousUntil: null,
      ...UNBOUNDED,
    }
    const row = this.changed(blank, { tenant: blank.tenant, ...wish })
    this.options.table.insert(row)
    return { key: visible(row), text }
  }

  /** As `create`, with a balance of its own; a key whose money could not be booked opens nothing. */
  async createFunded(wish: KeyWish, nanoUsd: bigint): Promise<MintedKey> {
    this.money()
    const minted = this.create({ ...wish, ownBalance: true })
    try {
      await this.topUp(minted.key.id, { nanoUsd, eventId: `${minted.key.id} opening` })
      return minted
    } catch (thrown) {
      this.revoke(minted.key.id)
      throw thrown
    }
  }

  /** Adds to a key's balance, which it has from then on: once for one event id. */
  async topUp(id: string, { nanoUsd, eventId }: { nanoUsd: bigint; eventId: string }): Promise<Key> {
    const money = this.money()
    const key = this.get(id)
    if (nanoUsd > 0n) await money.topUp(id, nanoUsd, eventId)
    return key.ownBalance ? key : this.update(id, { ownBalance: true })
  }

  /** Undefined where it has none of its own. */
  async balanceOf({ id, ownBalance }: Key): Promise<bigint | undefined> {
    return ownBalance ? this.options.money?.balanceOf(id) : undefined
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
    return this.options.table.list().map(visible)
  }

  isEmpty(): boolean {
    return this.options.table.count() === 0
  }

  /** A new text for the same key; the old one is taken for `graceMs` more. */
  rotate(id: string, { graceMs = DEFAULT_GRACE_MS }: { graceMs?: number } = {}): MintedKey {
    const row = this.row(id)
    if (row.revokedAt !== null) {
      throw new GatewayError("invalid_parameter", `Key ${id} is revoked; create a new one instead.`, { param: "id" })
    }
    const text = mintKey()
    const rotated: KeyRow = {
      ...row,
      hash: this.hash(text),
      hint: keyHint(text),
      previousHash: row.hash,
      previousUntil: this.now() + graceMs,
    }
    this.replace(rotated)
    return { key: visible(rotated), text }
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
    const caller = this.known.get(text) ?? this.recognise(text)
    if (caller.revokedAt !== null) throw new GatewayError("revoked_api_key", "This API key has been revoked.")
    if (caller.expiresAt !== null && caller.expiresAt <= this.now()) {
      const when = new Date(caller.expiresAt).toISOString()
      throw new GatewayError("expired_api_key", `This API key expired at ${when}.`)
    }
    return caller
  }

  private recognise(text: string): Caller {
    if (!isKeyText(text)) throw invalidKey()
    for (const secret of this.options.secrets) {
      const hash = hmac(secret, text)
      const row = this.lookUp(() => this.options.table.findByHash(hash))
      if (!row) continue
      const caller = callerOf(
        row,
        this.lookUp(() => this.tenants.find(row.tenant)),
      )
      if (row.hash !== hash) return this.withinGrace(row, caller)
      if (this.known.size >= MAX_KNOWN) this.known.clear()
      this.known.set(text, caller)
      return caller
    }
    throw invalidKey()
  }

  /** A text that was rotated away is looked up each time: it is rare, and its time runs out. */
  private withinGrace({ previousUntil }: KeyRow, caller: Caller): Caller {
    if (previousUntil !== null && previousUntil > this.now()) return caller
    throw new GatewayError("revoked_api_key", "This API key has been replaced by a new one.")
  }

  private lookUp<Row>(find: () => Row): Row {
    try {
      return find()
    } catch (cause) {
      const message = "The gateway cannot look up API keys just now. Try again."
      throw new GatewayError("store_unavailable", message, { cause })
    }
  }

  /** The row with what was asked for in its place; never more than its tenant holds. */
  private changed(row: KeyRow, { name, tenant, addresses, keepAnswers, ownBalance, expiresAt, ...wish }: KeyChange) {
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
      ownBalance: ownBalance === undefined ? row.ownBalance : (ownBalance ?? false),
      expiresAt: expiresAt === undefined ? row.expiresAt : expiresAt,
    }
    return changed
  }

  private money(): Money {
    if (this.options.money) return this.options.money
    throw new GatewayError("unsupported_parameter", "This gateway keeps no balances.", { param: "balance" })
  }

  private row(id: string): KeyRow {
    const row = this.options.table.findById(id)
    if (!row) throw new GatewayError("resource_not_found", `There is no key ${id}. See: trivium keys list`)
    return row
  }

  private replace(row: KeyRow): void {
    this.options.table.replace(row)
    this.known.clear()
  }

  private hash(text: string): string {
    const [secret] = this.options.secrets
    if (!secret) throw new Error("no secret to hash keys with")
    return hmac(secret, text)
  }
}

function hmac(secret: Secret, text: string): string {
  return createHmac("sha256", secret.reveal()).update(text).digest("hex")
}

function invalidKey(): GatewayError {
  return new GatewayError("invalid_api_key", "This API key is not valid here. Check that it was copied whole.")
}
