// What an operator does with keys, as it is asked for and as it is shown.
import { randomUUID } from "node:crypto"
import { budgetsInForce } from "../accounts/budgets-in-force.ts"
import type { Key, Keys, MintedKey } from "../accounts/keys.ts"
import {
  type AskedChange,
  type AskedKey,
  changeOf,
  type ShownKey,
  type ShownMintedKey,
  shownKey,
} from "../accounts/shown-key.ts"
import { readUsd } from "../accounts/usd.ts"
import { type ShownSpending, type Spender, shownSpending } from "./spending.ts"
import { type Sync, synced } from "./synced.ts"

export interface AskedTopUp {
  readonly usd: string
  /** Booked once, however often it is sent; another for each call where it is left out. */
  readonly event_id?: string
}

export interface KeyDeskOptions {
  readonly keys: Keys
  readonly ledger: Parameters<typeof shownSpending>[1]["ledger"]
  readonly sync: Sync
  readonly now: () => number
}

export class KeyDesk {
  constructor(private readonly options: KeyDeskOptions) {}

  async create(asked: AskedKey): Promise<ShownMintedKey> {
    const { keys } = this.options
    const { name, balance, own_balance } = asked
    const wish = { name, ...changeOf(asked) }
    const isFunded = balance !== undefined || own_balance === true
    const nanoUsd = balance === undefined ? 0n : readUsd(balance, "balance")
    return this.minted(await this.synced(isFunded ? keys.createFunded(wish, nanoUsd) : keys.create(wish)))
  }

  async list(): Promise<readonly ShownKey[]> {
    return this.options.keys.list().map((key) => this.shown(key))
  }

  async get(id: string): Promise<ShownKey & { readonly spending: readonly ShownSpending[] }> {
    const { keys } = this.options
    const key = keys.get(id)
    const budgets = budgetsInForce(key.budgets, keys.tenants.find(key.tenant)?.budgets ?? {})
    return { ...this.shown(key), spending: this.spendingOf({ ...key, budgets }) }
  }

  /** What is refused is refused before the books are told anything. */
  async update(id: string, asked: AskedChange): Promise<ShownKey> {
    const { keys } = this.options
    const key = keys.update(id, changeOf(asked))
    const { own_balance } = asked
    return this.shown(await this.synced(own_balance === undefined ? key : keys.setOwnBalance(id, own_balance ?? false)))
  }

  async topUp(id: string, { usd, event_id }: AskedTopUp): Promise<ShownKey> {
    const nanoUsd = readUsd(usd, "usd")
    const eventId = event_id ?? randomUUID()
    return this.shown(await this.synced(this.options.keys.topUp(id, { nanoUsd, eventId })))
  }

  async rotate(id: string, { grace_seconds }: { grace_seconds?: number }): Promise<ShownMintedKey> {
    const grace = grace_seconds === undefined ? {} : { graceMs: grace_seconds * 1000 }
    return this.minted(await this.synced(this.options.keys.rotate(id, grace)))
  }

  async revoke(id: string): Promise<ShownKey> {
    return this.shown(await this.synced(this.options.keys.revoke(id)))
  }

  spendingOf(spender: Spender): ShownSpending[] {
    const { ledger, now } = this.options
    return shownSpending(spender, { ledger, at: now() })
  }

  private synced<Result>(done: Result | Promise<Result>): Promise<Result> {
    return synced(done, this.options.sync)
  }

  private shown(key: Key): ShownKey {
    return shownKey(key, this.options.keys.balanceOf(key))
  }

  private minted({ key, text, previousUntil }: MintedKey): ShownMintedKey {
    const until = previousUntil === undefined ? {} : { previous_until: new Date(previousUntil).toISOString() }
    return { ...this.shown(key), key: text, ...until }
  }
}
