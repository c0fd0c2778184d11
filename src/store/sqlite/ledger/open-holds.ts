// Open holds: all of them in memory, and durable, several per row, which is overwritten when all of them have ended. A
// hold is open until there is an entry of its request; of two records the later counts.
import type { Database } from "bun:sqlite"
import type { HoldRow } from "../../contract.ts"
import { type NanoValue, nanoOf, nanoValue } from "./journal.ts"
import type { LedgerEntries } from "./ledger-entries.ts"
import { type ChainedItem, RequestHashTable } from "./request-hash-table.ts"

/** A row, and the number of its open holds that are in no later row. */
interface HoldGroup {
  readonly slot: number
  open: number
}

interface OpenHold extends ChainedItem<OpenHold> {
  row: HoldRow
  /** Undefined while it waits to be written, and after it has ended. */
  group: HoldGroup | undefined
  isOpen: boolean
}

interface GroupColumns {
  readonly slot: bigint
  readonly written: bigint
  readonly holds: string
}

/** Holds that fit one page of the file, where a row is updated in place. */
const HOLDS_PER_ROW = 32
/** With more groups, the open holds of the oldest are rewritten: a few long requests do not pin many rows. */
const MAX_GROUPS = 128
const DAY_MS = 86_400_000

export class OpenHolds {
  private readonly open = new RequestHashTable<OpenHold>()
  /** The number of open holds by day: almost always one day. */
  private readonly days = new Map<number, number>()
  /** Budgets of open holds; they are not durable, so they survive a failed transaction. */
  private readonly budgets = new Map<string, HoldRow["budgets"]>()
  /** Holds with budgets that the transaction has ended. */
  private ended: string[] = []
  /** The oldest first. */
  private readonly groups = new Set<HoldGroup>()
  private freeSlots: number[] = []
  private slots = 0
  private written = 0
  /** Some may have ended meanwhile. */
  private unwritten: OpenHold[] = []
  private readonly rows
  private readonly put

  constructor(
    database: Database,
    private readonly entries: Pick<LedgerEntries, "isNew" | "endedAmong">,
  ) {
    this.rows = database.query<GroupColumns, []>("SELECT slot, written, holds FROM hold_groups ORDER BY written")
    this.put = database.query("REPLACE INTO hold_groups VALUES (?1, ?2, ?3)")
  }

  /** False if the request is already held or has ended. */
  insert(row: HoldRow): boolean {
    if (this.open.get(row.requestId) || !this.entries.isNew(row.requestId)) return false
    const hold: OpenHold = { row, next: undefined, group: undefined, isOpen: true }
    this.open.add(hold)
    this.countDay(row.day, 1)
    this.unwritten.push(hold)
    if (row.budgets.length > 0) this.budgets.set(row.requestId, row.budgets)
    return true
  }

  find(requestId: string): HoldRow | undefined {
    return this.open.get(requestId)?.row
  }

  /** Replaces the hold of this request. */
  replace(row: HoldRow): void {
    const hold = this.open.get(row.requestId)
    if (!hold) throw new Error(`request ${row.requestId} is not held`)
    hold.row = row
    this.rewrite(hold)
  }

  /** Removes the hold of a booked request and returns it; undefined if there was none. */
  end(requestId: string): HoldRow | undefined {
    const hold = this.open.remove(requestId)
    if (!hold) return undefined
    if (hold.row.budgets.length > 0) this.ended.push(requestId)
    hold.isOpen = false
    this.countDay(hold.row.day, -1)
    this.leaveGroup(hold)
    return hold.row
  }

  /** True if a hold is of a later day, as after a clock was set back. */
  hasLaterThan(day: number): boolean {
    for (const held of this.days.keys()) if (held > day) return true
    return false
  }

  *all(): Generator<HoldRow> {
    for (const { row } of this.open.all()) yield row
  }

  /** Called at the end of a transaction. */
  write(): void {
    if (this.groups.size > MAX_GROUPS) this.rewriteOldest()
    if (this.unwritten.length === 0) return
    const { unwritten } = this
    const waiting = unwritten.every(({ isOpen }) => isOpen) ? unwritten : unwritten.filter(({ isOpen }) => isOpen)
    this.unwritten = []
    for (let at = 0; at < waiting.length; at += HOLDS_PER_ROW) this.writeRow(waiting.slice(at, at + HOLDS_PER_ROW))
  }

  committed(): void {
    for (const requestId of this.ended) this.budgets.delete(requestId)
    if (this.ended.length > 0) this.ended = []
  }

  load(): void {
    for (const { slot, written, holds } of this.rows.all()) {
      const group = { slot: Number(slot), open: 0 }
      this.groups.add(group)
      this.slots = Math.max(this.slots, group.slot + 1)
      this.written = Number(written)
      for (const row of this.rowsOf(JSON.parse(holds))) this.loadRow(row, group)
    }
    const requestIds = [...this.open.all()].map(({ row }) => row.requestId)
    for (const requestId of this.entries.endedAmong(requestIds)) this.end(requestId)
    for (const requestId of this.budgets.keys()) if (!this.open.get(requestId)) this.budgets.delete(requestId)
    this.ended = []
    for (const group of this.groups) if (group.open === 0) this.free(group)
  }

  forget(): void {
    this.open.clear()
    this.days.clear()
    this.groups.clear()
    this.freeSlots = []
    this.slots = 0
    this.unwritten = []
  }

  private rowsOf([holders, holds]: GroupValue): HoldRow[] {
    return holds.map(([holder, requestId, amount, owed, at]) => {
      const [accountId, tenant, keyId, epoch] = holders[holder] as HoldOwner
      const nano = { amountNano: nanoOf(amount), lowerBoundNano: nanoOf(owed) }
      const budgets = this.budgets.get(requestId) ?? []
      return { requestId, accountId, tenant, keyId, ...nano, day: Math.floor(at / DAY_MS), epoch, at, budgets }
    })
  }

  private loadRow(row: HoldRow, group: HoldGroup): void {
    const before = this.open.remove(row.requestId)
    if (before?.group) before.group.open -= 1
    if (before) this.countDay(before.row.day, -1)
    this.open.add({ row, next: undefined, group, isOpen: true })
    this.countDay(row.day, 1)
    group.open += 1
  }

  private countDay(day: number, more: 1 | -1): void {
    const count = (this.days.get(day) ?? 0) + more
    if (count === 0) this.days.delete(day)
    else this.days.set(day, count)
  }

  private writeRow(holds: readonly OpenHold[]): void {
    const slot = this.freeSlots.pop() ?? this.slots++
    const group = { slot, open: holds.length }
    this.groups.add(group)
    for (const hold of holds) hold.group = group
    this.written += 1
    this.put.run(slot, this.written, JSON.stringify(groupValue(holds)))
  }

  private rewriteOldest(): void {
    const [oldest] = this.groups
    for (const hold of this.open.all()) if (hold.group === oldest) this.rewrite(hold)
  }

  private rewrite(hold: OpenHold): void {
    // A hold without a group is already queued.
    if (hold.group) this.unwritten.push(hold)
    this.leaveGroup(hold)
  }

  private leaveGroup(hold: OpenHold): void {
    const { group } = hold
    if (!group) return
    hold.group = undefined
    group.open -= 1
    if (group.open === 0) this.free(group)
  }

  private free(group: HoldGroup): void {
    this.groups.delete(group)
    this.freeSlots.push(group.slot)
  }
}

/** The owner of a hold, and the epoch of the process that made it. */
type HoldOwner = readonly [accountId: number, tenant: string, keyId: string, epoch: number]
type HoldValue = readonly [holder: number, requestId: string, amount: NanoValue, owed: NanoValue, at: number]
type GroupValue = readonly [holders: readonly HoldOwner[], holds: readonly HoldValue[]]

/** Without budgets: holds of a dead process are not extended. */
function groupValue(holds: readonly OpenHold[]): GroupValue {
  const holders: HoldOwner[] = []
  const values = holds.map(({ row }): HoldValue => {
    const { requestId, accountId, tenant, keyId, amountNano, lowerBoundNano, epoch, at } = row
    const last = holders[holders.length - 1]
    const isSame = last && last[2] === keyId && last[0] === accountId && last[1] === tenant && last[3] === epoch
    if (!isSame) holders.push([accountId, tenant, keyId, epoch])
    return [holders.length - 1, requestId, nanoValue(amountNano), nanoValue(lowerBoundNano), at]
  })
  return [holders, values]
}
