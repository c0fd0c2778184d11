// Admin operations on keys, with their input and view types.
import { randomUUID } from "node:crypto"
import { budgetsInForce } from "../../access/budgets-in-force.ts"
import type { ApiKey, KeyRegistry, MintedKey } from "../../access/key-registry.ts"
import { parseUsd } from "../../access/parse-usd.ts"
import {
  type KeyChangeInput,
  type KeyInput,
  type KeyView,
  type MintedKeyView,
  readKeyChange,
  toKeyView,
} from "../../access/views/key-view.ts"
import { type BudgetSpender, type SpendingView, toSpendingViews } from "./spending-view.ts"
import { type SyncStore, withSync } from "./with-sync.ts"

export interface TopUpInput {
  readonly usd: string
  /** Idempotency id of the top-up; a new one per call if absent. */
  readonly event_id?: string
}

export interface KeyServiceOptions {
  readonly keys: KeyRegistry
  readonly ledger: Parameters<typeof toSpendingViews>[1]["ledger"]
  readonly sync: SyncStore
  readonly now: () => number
}

export class KeyService {
  constructor(private readonly options: KeyServiceOptions) {}

  async create(input: KeyInput): Promise<MintedKeyView> {
    const { keys } = this.options
    const { name, balance, own_balance } = input
    const creation = { name, ...readKeyChange(input) }
    const isFunded = balance !== undefined || own_balance === true
    const nanoUsd = balance === undefined ? 0n : parseUsd(balance, "balance")
    return this.toMintedView(
      await this.withSync(isFunded ? keys.createFunded(creation, nanoUsd) : keys.create(creation)),
    )
  }

  async list(): Promise<readonly KeyView[]> {
    return this.options.keys.list().map((key) => this.toView(key))
  }

  async get(id: string): Promise<KeyView & { readonly spending: readonly SpendingView[] }> {
    const { keys } = this.options
    const key = keys.get(id)
    const budgets = budgetsInForce(key.budgets, keys.tenants.find(key.tenant)?.budgets ?? {})
    return { ...this.toView(key), spending: this.spendingOf({ ...key, budgets }) }
  }

  /** Validates the input before anything is booked. */
  async update(id: string, input: KeyChangeInput): Promise<KeyView> {
    const { keys } = this.options
    const key = keys.update(id, readKeyChange(input))
    const { own_balance } = input
    return this.toView(
      await this.withSync(own_balance === undefined ? key : keys.setOwnBalance(id, own_balance ?? false)),
    )
  }

  async topUp(id: string, { usd, event_id }: TopUpInput): Promise<KeyView> {
    const nanoUsd = parseUsd(usd, "usd")
    const eventId = event_id ?? randomUUID()
    return this.toView(await this.withSync(this.options.keys.topUp(id, { nanoUsd, eventId })))
  }

  async rotate(id: string, { grace_seconds }: { grace_seconds?: number }): Promise<MintedKeyView> {
    const grace = grace_seconds === undefined ? {} : { graceMs: grace_seconds * 1000 }
    return this.toMintedView(await this.withSync(this.options.keys.rotate(id, grace)))
  }

  async revoke(id: string): Promise<KeyView> {
    return this.toView(await this.withSync(this.options.keys.revoke(id)))
  }

  spendingOf(spender: BudgetSpender): SpendingView[] {
    const { ledger, now } = this.options
    return toSpendingViews(spender, { ledger, at: now() })
  }

  private withSync<Result>(done: Result | Promise<Result>): Promise<Result> {
    return withSync(done, this.options.sync)
  }

  private toView(key: ApiKey): KeyView {
    return toKeyView(key, this.options.keys.balanceOf(key))
  }

  private toMintedView({ key, text, previousUntil }: MintedKey): MintedKeyView {
    const until = previousUntil === undefined ? {} : { previous_until: new Date(previousUntil).toISOString() }
    return { ...this.toView(key), key: text, ...until }
  }
}
