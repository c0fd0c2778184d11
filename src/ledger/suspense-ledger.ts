// Suspense: the amounts of requests that were in flight when the process died. Lists them, lets an operator settle or
// return them, and returns the rest to the paying account after a while.
import { GatewayError } from "../canonical/gateway-error.ts"
import type { LedgerTable, SuspenseRow } from "../store/contract.ts"
import type { LedgerRules } from "./ledger-rules.ts"

export interface SuspendedRequest {
  readonly requestId: string
  readonly tenant: string
  readonly keyId: string
  /** The time of the suspension, and of its automatic return. */
  readonly at: number
  readonly returnsAt: number
  readonly nano: bigint
}

export interface OpenSuspensePage {
  readonly requests: readonly SuspendedRequest[]
  /** The cursor of the next page; undefined on the last. */
  readonly next: bigint | undefined
}

/** The number of returned requests, and their total. */
export interface SuspenseReturn {
  readonly requests: number
  readonly nano: bigint
}

interface SuspenseOptions {
  readonly table: Pick<LedgerTable, "suspense" | "entries" | "accounts">
  readonly rules: Pick<LedgerRules, "endSuspense">
  /** Resolves when it is durable. */
  readonly write: <Result>(work: () => Result) => Promise<Result>
  readonly now: () => number
  readonly returnAfterMs: number
}

const ENDED_AT_ONCE = 256
/** The longest wait before the clock, which may have been set, or a failed store is checked again. */
const MOST_WAIT_MS = 60_000

export class SuspenseLedger {
  private timer: ReturnType<typeof setTimeout> | undefined
  private isStopped = false

  constructor(private readonly options: SuspenseOptions) {}

  /** The total in suspense. */
  get sumNano(): bigint {
    return this.options.table.accounts.find("suspense")?.postedNano ?? 0n
  }

  get count(): number {
    return this.options.table.suspense.countOpen()
  }

  /** The oldest first. */
  page(after: bigint, limit: number): OpenSuspensePage {
    const rows = this.options.table.suspense.page(after, limit)
    const next = rows.length < limit ? undefined : rows.at(-1)?.entry
    return { requests: rows.flatMap((row) => this.suspended(row) ?? []), next }
  }

  /** Charges an amount, or all of it, and returns the rest. Idempotent, also after a return. */
  async settle(requestId: string, chargeNano?: bigint): Promise<void> {
    await this.end(requestId, chargeNano)
  }

  /** Returns all of it. Idempotent, also after a settlement. */
  async return(requestId: string): Promise<void> {
    await this.end(requestId, 0n)
  }

  /** Returns the suspense of every request. */
  returnAll(): Promise<SuspenseReturn> {
    return this.returnUntil(Number.POSITIVE_INFINITY)
  }

  /** Returns due amounts until stopped. */
  watch(): void {
    if (this.timer || this.isStopped) return
    const [oldest] = this.options.table.suspense.page(0n, 1)
    if (oldest) this.waitFor(this.dueAt(oldest) - this.options.now())
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  private waitFor(waitMs: number): void {
    this.timer = setTimeout(() => void this.returnDue(), Math.min(Math.max(0, waitMs), MOST_WAIT_MS))
    this.timer.unref()
  }

  private async returnDue(): Promise<void> {
    try {
      await this.returnUntil(this.options.now() - this.options.returnAfterMs)
      this.timer = undefined
      this.watch()
    } catch {
      // Amounts stay in suspense until the store works again.
      if (!this.isStopped) this.waitFor(MOST_WAIT_MS)
    }
  }

  /** Returns amounts suspended up to a time. */
  private async returnUntil(time: number): Promise<SuspenseReturn> {
    const { table, now } = this.options
    const sum = { requests: 0, nano: 0n }
    for (let after = 0n; ; ) {
      const rows = table.suspense.page(after, ENDED_AT_ONCE)
      const last = rows.at(-1)
      if (!last) return sum
      const returned = await this.options.write(() => {
        const due = rows.filter(({ requestId, at }) => at <= time && table.suspense.find(requestId)?.endedBy === null)
        for (const { requestId } of due) this.options.rules.endSuspense(requestId, { chargeNano: 0n, at: now() })
        return due
      })
      for (const { entry } of returned) sum.nano += table.entries.get(entry)?.nano.suspense ?? 0n
      sum.requests += returned.length
      after = last.entry
    }
  }

  private async end(requestId: string, chargeNano: bigint | undefined): Promise<void> {
    const { rules, write, now } = this.options
    if (await write(() => rules.endSuspense(requestId, { chargeNano, at: now() }))) return
    const message = `Request ${requestId} has nothing in suspense. To list requests that do: trivium ledger suspense list`
    throw new GatewayError("resource_not_found", message)
  }

  private dueAt({ at }: SuspenseRow): number {
    return at + this.options.returnAfterMs
  }

  private suspended(row: SuspenseRow): SuspendedRequest | undefined {
    const entry = this.options.table.entries.get(row.entry)
    if (!entry || entry.tenant === null || entry.keyId === null) return undefined
    const { requestId, at } = row
    const returnsAt = this.dueAt(row)
    return { requestId, tenant: entry.tenant, keyId: entry.keyId, at, returnsAt, nano: entry.nano.suspense }
  }
}
