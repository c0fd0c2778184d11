// What an operator does with money in suspense: lists it, charges it, returns it.
import { readUsd } from "../accounts/usd.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { SuspendedRequest } from "../ledger/suspense.ts"
import type { BookDesk } from "./book-desk.ts"
import type { ShownReceipt } from "./shown-receipt.ts"
import { type Sync, synced } from "./synced.ts"

/** Amounts are decimal USD. */
interface SuspenseView {
  /** The request's. */
  readonly id: string
  readonly tenant: string
  readonly key: string
  readonly amount: string
  readonly since: string
  readonly returns_at: string
}

/** A page, and what all pages come to. */
export interface SuspensePageView {
  readonly suspense: readonly SuspenseView[]
  readonly next: string | null
  readonly count: number
  readonly total: string
}

export interface ReturnedView {
  readonly returned: number
  readonly amount: string
}

interface SuspenseDeskOptions {
  readonly ledger: Pick<Ledger, "suspense">
  readonly books: Pick<BookDesk, "receipt">
  readonly sync: Sync
}

const ROWS_PER_PAGE = 1000

export class SuspenseDesk {
  constructor(private readonly options: SuspenseDeskOptions) {}

  /** The oldest first. */
  async list({ after = "0", limit = ROWS_PER_PAGE }: { after?: string; limit?: number }): Promise<SuspensePageView> {
    const { suspense } = this.options.ledger
    const { requests, next } = suspense.page(BigInt(after), limit)
    const sums = { count: suspense.count, total: usdOfNano(suspense.sumNano) }
    return { suspense: requests.map(toSuspenseView), next: next === undefined ? null : String(next), ...sums }
  }

  /** The receipt as it is then; again, or after a return, as it is already. */
  async settle(id: string, { usd }: { readonly usd?: string }): Promise<ShownReceipt> {
    const { ledger, books, sync } = this.options
    await synced(ledger.suspense.settle(id, usd === undefined ? undefined : readUsd(usd, "usd")), sync)
    return books.receipt(id)
  }

  async return(id: string): Promise<ShownReceipt> {
    const { ledger, books, sync } = this.options
    await synced(ledger.suspense.return(id), sync)
    return books.receipt(id)
  }

  async returnAll(): Promise<ReturnedView> {
    const { ledger, sync } = this.options
    const { requests, nano } = await synced(ledger.suspense.returnAll(), sync)
    return { returned: requests, amount: usdOfNano(nano) }
  }
}

function toSuspenseView({ requestId, tenant, keyId, nano, at, returnsAt }: SuspendedRequest): SuspenseView {
  const time = (value: number) => new Date(value).toISOString()
  const amount = usdOfNano(nano)
  return { id: requestId, tenant, key: keyId, amount, since: time(at), returns_at: time(returnsAt) }
}
