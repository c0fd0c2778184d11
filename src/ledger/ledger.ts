// The gateway's ledger: the maximum cost of a call is held before it is made and settled exactly once after, every
// amount moves between accounts, and nothing counts before it is durable.
import { GatewayError } from "../canonical/gateway-error.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Pricing } from "../canonical/model.ts"
import type { Usage } from "../canonical/usage.ts"
import { usdOfNano } from "../canonical/usd.ts"
import {
  type BookedEntry,
  type EntryUsage,
  type HoldRow,
  type LedgerProblem,
  type LedgerTable,
  StoreError,
} from "../store/contract.ts"
import type { Budget } from "./budget.ts"
import { CompactionScheduler } from "./compaction-scheduler.ts"
import { freeOf } from "./free-balance.ts"
import { GroupCommit } from "./group-commit.ts"
import {
  type HoldRequest,
  LedgerRules,
  type LedgerTopUp,
  MAX_NANO,
  type SettledHold,
  UNKNOWN_USE,
} from "./ledger-rules.ts"
import { PriceVersions } from "./price-versions.ts"
import { SuspenseLedger } from "./suspense-ledger.ts"
import { parseDay, readUsagePage, type UsageQuery, type UsageReportPage } from "./usage-report.ts"
import { verifyLedger } from "./verify-ledger.ts"

export interface LedgerOptions {
  readonly table: LedgerTable
  readonly now?: () => number
  /** The time after which amounts in suspense are returned; a day by default. */
  readonly returnSuspenseAfterMs?: number
}

/** The result of a request. */
export interface Settlement {
  readonly chargeNano: bigint
  /** The provider reported the usage: a shortfall becomes a debt instead of a write-off. */
  readonly mayOwe?: boolean | undefined
  /** The model and provider that answered. */
  readonly model: string
  readonly provider: string
  readonly usage: Usage
  readonly images?: number | undefined
  /** The prices of the charge; the receipt names their version. */
  readonly pricing?: Pricing | undefined
  /** The client's protocol. */
  readonly protocol?: string | undefined
  /** Other facts for the receipt. */
  readonly facts?: JsonObject | undefined
  /** Runs in the same transaction, once, when the settlement is booked; if either fails, neither is written. */
  readonly also?: (() => void) | undefined
}

/** Facts of a request that costs nothing. */
export interface ReleaseDetails {
  readonly protocol?: string | undefined
  /** Other facts for the receipt. */
  readonly facts?: JsonObject | undefined
}

export interface LedgerBalance {
  readonly postedNano: bigint
  readonly heldNano: bigint
  /** Null is unlimited. */
  readonly floorNano: bigint | null
  /** The amount that may still be spent; null if unlimited. */
  readonly freeNano: bigint | null
  /** Debt, which a top-up pays first; until then nothing may be spent. */
  readonly owedNano: bigint
}

export interface Receipt extends SettledHold {
  readonly requestId: string
  readonly tenant: string
  readonly keyId: string
  readonly at: number
  /** Undefined if they were dropped. */
  readonly facts: JsonObject | undefined
}

/** The open holds that a start has closed. */
export interface RecoveredHolds {
  readonly holds: number
  readonly chargeNano: bigint
  readonly suspendedNano: bigint
}

const RECOVERED_AT_ONCE = 256
/** How long a lower bound may wait for other writes. */
const NOTE_DELAY_MS = 1000
const DAY_MS = 86_400_000

export class Ledger {
  readonly suspense: SuspenseLedger
  private readonly table: LedgerTable
  private readonly now: () => number
  private readonly rules: LedgerRules
  private readonly prices: PriceVersions
  private readonly group: GroupCommit
  private readonly compaction: CompactionScheduler
  private readonly notes = new Map<string, bigint>()
  private noteTimer: ReturnType<typeof setTimeout> | undefined
  private epoch: number | undefined
  /** The start of the transaction, which is the time of all its entries. */
  private at = 0
  private isWritten = true

  constructor({ table, now = Date.now, returnSuspenseAfterMs: returnAfterMs = DAY_MS }: LedgerOptions) {
    this.table = table
    this.now = now
    this.rules = new LedgerRules(table)
    this.prices = new PriceVersions(table.prices)
    this.group = new GroupCommit((work) => this.write(work))
    this.compaction = new CompactionScheduler(table)
    const write = <Result>(work: () => Result) => this.group.add(work)
    this.suspense = new SuspenseLedger({ table, rules: this.rules, write, now, returnAfterMs })
  }

  /** Closes holds of earlier processes. Nothing can be held before. */
  recover(): RecoveredHolds {
    this.epoch ??= this.write(() => this.table.nextEpoch())
    const { epoch } = this
    const sum = { holds: 0, chargeNano: 0n, suspendedNano: 0n }
    for (;;) {
      const ended = this.write(() =>
        this.table.holds.ofEarlierEpochs(epoch, RECOVERED_AT_ONCE).map((hold) => this.recoverOne(hold)),
      )
      if (ended.length === 0) {
        this.compaction.compactLater()
        this.suspense.watch()
        return sum
      }
      for (const { chargeNano, suspendedNano } of ended) {
        sum.holds += 1
        sum.chargeNano += chargeNano
        sum.suspendedNano += suspendedNano
      }
    }
  }

  /** Resolves when the hold is durable; rejects with insufficient_balance, budget_exceeded or store_unavailable. */
  hold(request: HoldRequest): Promise<void> {
    const { epoch } = this
    if (epoch === undefined) return Promise.reject(new Error("a ledger cannot hold amounts before it has recovered"))
    const fault = amountFault(request.amountNano)
    return fault ? Promise.reject(fault) : this.group.add(() => this.rules.hold(request, epoch))
  }

  /** Extends the hold; false if the amount does not fit. */
  extend(requestId: string, moreNano: bigint): Promise<boolean> {
    const fault = amountFault(moreNano)
    return fault ? Promise.reject(fault) : this.group.add(() => this.rules.extend(requestId, moreNano))
  }

  /** Records the known cost so far, which is charged if the process dies. Written with the next write. */
  note(requestId: string, { lowerBoundNano }: { readonly lowerBoundNano: bigint }): void {
    const fault = amountFault(lowerBoundNano)
    if (fault) throw fault
    const before = this.notes.get(requestId) ?? 0n
    this.notes.set(requestId, before > lowerBoundNano ? before : lowerBoundNano)
    if (this.noteTimer) return
    this.noteTimer = setTimeout(() => {
      this.noteTimer = undefined
      this.flush()
    }, NOTE_DELAY_MS)
    this.noteTimer.unref()
  }

  /** Books the charge. Idempotent: repeated, it returns the first outcome. */
  settle(requestId: string, settlement: Settlement): Promise<SettledHold> {
    const fault = amountFault(settlement.chargeNano) ?? countFault(settlement)
    if (fault) return Promise.reject(fault)
    return this.group.add(() => {
      const hold = this.table.holds.find(requestId)
      return hold ? this.settleOne(hold, settlement) : this.endedBefore(requestId)
    })
  }

  /** Releases the hold without a charge. Idempotent: repeated, or after a settlement, it returns the first outcome. */
  release(requestId: string, details: ReleaseDetails = {}): Promise<SettledHold> {
    return this.group.add(() => {
      const hold = this.table.holds.find(requestId)
      if (hold) return this.releaseOne(hold, details)
      return this.rules.findClosedHold(requestId)?.settled ?? { outcome: "released", ...NOTHING }
    })
  }

  /** Books a payment, once per event. An unlimited account is limited from then on. */
  topUp(topUp: LedgerTopUp): Promise<void> {
    return this.group.add(() => this.rules.topUp(topUp))
  }

  /** Limits an account, opening it if needed: 0 for a plain balance, negative for credit, null for no limit. */
  setFloor(account: string, floorNano: bigint | null): Promise<void> {
    return this.group.add(() => this.rules.setFloor(account, floorNano))
  }

  /** Undefined without such an account: a key without its own balance, a tenant that never called. */
  balance(account: string): LedgerBalance | undefined {
    const row = this.read(() => this.table.accounts.find(account))
    if (!row) return undefined
    const { postedNano, heldNano, floorNano, owedNano } = row
    return { postedNano, heldNano, floorNano, freeNano: floorNano === null ? null : freeOf(row), owedNano }
  }

  /** The remainder of a budget in the window of a time; negative if it is exceeded, or was in the previous period. */
  leftOf(budget: Budget, { keyId, tenant, at }: { keyId: string; tenant: string; at: number }): bigint {
    return this.read(() => {
      const day = this.rules.dayOf({ keyId, tenant, at })
      return this.rules.budgets.leftOf(budget, { keyId, tenant, day })
    })
  }

  /** The day that spending counts for at a time: never before the last day with spending. */
  spendingDay(spender: { keyId: string; tenant: string; at: number }): number {
    return this.read(() => this.rules.dayOf(spender))
  }

  /** Undefined if there is none, or it belongs to another tenant than the given one. */
  receipt(requestId: string, tenant?: string): Receipt | undefined {
    return this.read(() => {
      const ended = this.rules.findClosedHold(requestId)
      if (!ended) return undefined
      const { tenant: owner, keyId, at } = ended.entry
      if (owner === null || keyId === null || (tenant !== undefined && owner !== tenant)) return undefined
      const facts = this.table.receipts.find(ended.entry.id)
      const hasFacts = facts !== undefined && ended.settled.outcome !== "recovered"
      const shown = hasFacts ? { ...entryFacts(ended.entry), ...JSON.parse(facts) } : undefined
      return { requestId, tenant: owner, keyId, at, ...ended.settled, facts: shown }
    })
  }

  /** The prices of a version. */
  pricing(version: string): Pricing | undefined {
    return this.read(() => this.prices.find(version))
  }

  usage(query: UsageQuery): UsageReportPage {
    return this.read(() => readUsagePage(this.table.usage, query))
  }

  /** Drops at most `limit` rows of usage from before a date, and returns their number. */
  async dropUsageBefore(date: string, limit: number): Promise<number> {
    const day = parseDay(date)
    await this.compaction.flushAll().catch(throwUnavailable)
    return this.group.add(() => this.table.usage.dropBefore(day, limit))
  }

  /** Drops the facts of at most `limit` receipts from before a time, and returns their number. Entries stay. */
  dropReceiptsBefore(time: number, limit: number): Promise<number> {
    return this.group.add(() => this.table.receipts.dropBefore(time, limit))
  }

  /** Verifies the invariants over all entries, while requests go on. */
  verify(): Promise<LedgerProblem[]> {
    return verifyLedger(this.table, this.now())
  }

  /** The time of the last write to the store, and its outcome. */
  get lastWrite(): { readonly at: number; readonly succeeded: boolean } {
    return { at: this.at, succeeded: this.isWritten }
  }

  /** Writes without changing anything; throws a StoreError if the store does not accept it. */
  probe(): void {
    this.write(() => this.table.touch())
  }

  /** Writes the queued operations at once. */
  flush(): void {
    this.group.flush()
  }

  /** Called before the store is closed. */
  stop(): void {
    this.flush()
    this.suspense.stop()
  }

  private settleOne(hold: HoldRow, settlement: Settlement): SettledHold {
    const { chargeNano, mayOwe = false, model, provider, usage, images, pricing, protocol, facts, also } = settlement
    const counts = images === undefined ? usage : { ...usage, images }
    const use: EntryUsage = { model, provider, counts, priceVersion: pricing ? this.prices.record(pricing) : null }
    const settled = this.rules.closeHold(hold, {
      outcome: "settled",
      chargeNano,
      suspendedNano: 0n,
      mayOwe,
      at: this.at,
      protocol: protocol ?? null,
      use,
      facts: facts ? JSON.stringify(facts) : null,
    })
    if (also) writeAlongside(also)
    return settled
  }

  private releaseOne(hold: HoldRow, { protocol, facts }: ReleaseDetails): SettledHold {
    const text = facts ? JSON.stringify(facts) : null
    const nothing = { chargeNano: 0n, suspendedNano: 0n, mayOwe: false, use: null }
    return this.rules.closeHold(hold, {
      outcome: "released",
      ...nothing,
      at: this.at,
      protocol: protocol ?? null,
      facts: text,
    })
  }

  private recoverOne(hold: HoldRow): SettledHold {
    const { lowerBoundNano, amountNano } = hold
    return this.rules.closeHold(hold, {
      outcome: "recovered",
      chargeNano: lowerBoundNano,
      suspendedNano: lowerBoundNano < amountNano ? amountNano - lowerBoundNano : 0n,
      // A bound is counted here and not reported.
      mayOwe: false,
      at: this.at,
      protocol: null,
      use: UNKNOWN_USE,
      facts: null,
    })
  }

  private endedBefore(requestId: string): SettledHold {
    const ended = this.rules.findClosedHold(requestId)
    if (!ended) throw new Error(`request ${requestId} was never held`)
    return ended.settled
  }

  /** All writes go through here. */
  private write<Result>(work: () => Result): Result {
    this.at = this.now()
    try {
      const result = this.table.transaction(() => {
        const done = work()
        for (const [requestId, lowerBoundNano] of this.notes) this.table.holds.note(requestId, lowerBoundNano)
        return done
      })
      this.isWritten = true
      this.committed()
      return result
    } catch (thrown) {
      if (thrown instanceof StoreError) this.isWritten = false
      throw thrown
    } finally {
      this.prices.reset()
    }
  }

  private committed(): void {
    this.prices.committed()
    if (this.notes.size > 0) {
      this.notes.clear()
      clearTimeout(this.noteTimer)
      this.noteTimer = undefined
    }
    this.compaction.scheduleFlush()
  }

  private read<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (cause) {
      if (cause instanceof GatewayError || cause instanceof RangeError) throw cause
      return throwUnavailable(cause)
    }
  }
}

function throwUnavailable(cause: unknown): never {
  throw new GatewayError("store_unavailable", "The gateway cannot read its ledger at the moment. Try again.", { cause })
}

/** The booked facts of a receipt. */
function entryFacts({ protocol, heldNano, use }: BookedEntry): JsonObject {
  const held = heldNano === null ? {} : { held: usdOfNano(heldNano) }
  return { ...(protocol !== null && { protocol }), ...held, ...(use && usageFacts(use)) }
}

function usageFacts(use: EntryUsage): JsonObject {
  const { model, provider, counts, priceVersion } = use
  const { images, ...usage } = counts
  const shown = { model, provider, usage, ...(images !== undefined && { images }) }
  return priceVersion === null ? shown : { ...shown, price_version: priceVersion }
}

const NOTHING = {
  ...{ chargeNano: 0n, paidNano: 0n, writtenOffNano: 0n, owedNano: 0n, suspendedNano: 0n, returnedNano: 0n },
}

/** A refusal would keep the writes before it, so here it becomes a fault, which rolls everything back. */
function writeAlongside(also: () => void): void {
  try {
    also()
  } catch (cause) {
    if (!(cause instanceof GatewayError)) throw cause
    throw new Error("a write that belongs to a settlement was rejected", { cause })
  }
}

function amountFault(nano: bigint): RangeError | undefined {
  if (nano >= 0n && nano <= MAX_NANO) return undefined
  return new RangeError(`${nano} nano-USD is out of range: an amount is from 0 to ${MAX_NANO}`)
}

function countFault({ usage, images = 0 }: Settlement): RangeError | undefined {
  if (!isCount(images)) return new RangeError(`images: ${images} is not a count`)
  for (const bucket in usage) {
    const count = usage[bucket as keyof Usage] ?? 0
    if (!isCount(count)) return new RangeError(`${bucket}: ${count} is not a count`)
  }
  return undefined
}

function isCount(count: number): boolean {
  return Number.isSafeInteger(count) && count >= 0
}
