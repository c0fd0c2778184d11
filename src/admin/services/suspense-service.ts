// Admin operations on amounts in suspense: list, settle, return.
import { parseUsd } from "../../access/parse-usd.ts"
import { usdOfNano } from "../../canonical/usd.ts"
import type { Ledger } from "../../ledger/ledger.ts"
import type { SuspendedRequest } from "../../ledger/suspense-ledger.ts"
import type { LedgerService } from "./ledger-service.ts"
import type { ReceiptView } from "./receipt-view.ts"
import { type SyncStore, withSync } from "./with-sync.ts"

/** Amounts are decimal USD. */
interface SuspenseView {
  /** The id of the request. */
  readonly id: string
  readonly tenant: string
  readonly key: string
  readonly amount: string
  readonly since: string
  readonly returns_at: string
}

/** A page, with the total over all pages. */
export interface SuspensePageView {
  readonly suspense: readonly SuspenseView[]
  readonly next: string | null
  readonly count: number
  readonly total: string
}

export interface ReturnedSuspenseView {
  readonly returned: number
  readonly amount: string
}

interface SuspenseServiceOptions {
  readonly ledger: Pick<Ledger, "suspense">
  readonly receipts: Pick<LedgerService, "receipt">
  readonly sync: SyncStore
}

const ROWS_PER_PAGE = 1000

export class SuspenseService {
  constructor(private readonly options: SuspenseServiceOptions) {}

  /** The oldest first. */
  async list({ after = "0", limit = ROWS_PER_PAGE }: { after?: string; limit?: number }): Promise<SuspensePageView> {
    const { suspense } = this.options.ledger
    const { requests, next } = suspense.page(BigInt(after), limit)
    const sums = { count: suspense.count, total: usdOfNano(suspense.sumNano) }
    return { suspense: requests.map(toSuspenseView), next: next === undefined ? null : String(next), ...sums }
  }

  /** Returns the resulting receipt; idempotent, also after a return. */
  async settle(id: string, { usd }: { readonly usd?: string }): Promise<ReceiptView> {
    const { ledger, receipts, sync } = this.options
    await withSync(ledger.suspense.settle(id, usd === undefined ? undefined : parseUsd(usd, "usd")), sync)
    return receipts.receipt(id)
  }

  async return(id: string): Promise<ReceiptView> {
    const { ledger, receipts, sync } = this.options
    await withSync(ledger.suspense.return(id), sync)
    return receipts.receipt(id)
  }

  async returnAll(): Promise<ReturnedSuspenseView> {
    const { ledger, sync } = this.options
    const { requests, nano } = await withSync(ledger.suspense.returnAll(), sync)
    return { returned: requests, amount: usdOfNano(nano) }
  }
}

function toSuspenseView({ requestId, tenant, keyId, nano, at, returnsAt }: SuspendedRequest): SuspenseView {
  const time = (value: number) => new Date(value).toISOString()
  const amount = usdOfNano(nano)
  return { id: requestId, tenant, key: keyId, amount, since: time(at), returns_at: time(returnsAt) }
}
