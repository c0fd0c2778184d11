// Recomputes the sums of all entries from the journal alone. They are in temporary tables, so that memory does not grow
// with the ledger.
import type { Database } from "bun:sqlite"
import { type EntryAmounts, type EntryRow, spentNano } from "../../../contract.ts"
import { endsSuspense, entriesOf, type JournalRow } from "../journal.ts"
import type { LedgerState } from "../ledger-state.ts"
import { GATEWAY_ACCOUNT_IDS } from "../memtable.ts"
import { escapeName } from "../runs/run-lines.ts"
import { monthOf } from "../spend-totals.ts"

/** Reports a violated invariant. */
export type ReportProblem = (invariant: string, what: string) => void

const DROP = "DROP TABLE IF EXISTS temp.audit_accounts; DROP TABLE IF EXISTS temp.audit_paid;"
/** Paid sums: `spend` by month, then by holder and day; `usage` by day, then by tenant and key. */
const CREATE = `${DROP}
  CREATE TEMP TABLE audit_accounts (
    account INTEGER PRIMARY KEY, sum INTEGER NOT NULL, owed INTEGER NOT NULL
  ) STRICT;
  CREATE TEMP TABLE audit_paid (
    tree TEXT NOT NULL, part INTEGER NOT NULL, place TEXT NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (tree, part, place)
  ) STRICT, WITHOUT ROWID;`

interface JournalSumColumns extends JournalRow {
  readonly first: bigint
  readonly amount: bigint
  readonly funding: bigint
  readonly revenue: bigint
  readonly suspense: bigint
  readonly write_off: bigint
}

/** Number of keys summed in memory before they are written, in order, so that few pages are touched for each. */
const PLACES_AT_ONCE = 50_000

const NOTHING: EntryAmounts = { account: 0n, funding: 0n, revenue: 0n, suspense: 0n, writeOff: 0n, debt: 0n }

interface AccountSum {
  nano: bigint
  owedNano: bigint
}

export class AuditSums {
  private readonly database: Database
  private readonly state: LedgerState
  private summed = 0n
  /** Entries that began suspense, and that ended it. */
  readonly suspended = { begun: 0, ended: 0 }
  private readonly accounts = new Map<number, AccountSum>()
  private readonly paid = new Map<string, bigint>()
  /** Requests whose entries were not flushed when they were summed. */
  private readonly unflushed = new Set<string>()
  /** Sums to write, the last key first. */
  private unwritten: [place: string, nano: bigint][] = []
  private readonly next
  private readonly account
  private readonly addAccount
  private readonly addPaid

  constructor(
    { database, state }: { readonly database: Database; readonly state: LedgerState },
    private readonly report: ReportProblem,
  ) {
    this.database = database
    this.state = state
    database.run(CREATE)
    this.next = database.query<JournalSumColumns, [bigint]>(
      "SELECT * FROM journal WHERE first > ?1 ORDER BY first LIMIT 1",
    )
    this.account = database.query<unknown, [number]>("SELECT 1 FROM account_rows WHERE id = ?1")
    const add = "ON CONFLICT DO UPDATE SET sum = sum + excluded.sum"
    this.addAccount = database.query(
      `INSERT INTO temp.audit_accounts VALUES (?1, ?2, ?3) ${add}, owed = owed + excluded.owed`,
    )
    this.addPaid = database.query(`INSERT INTO temp.audit_paid VALUES (?1, ?2, ?3, ?4) ${add}`)
  }

  /** Processes about `limit` more entries or keys; false when all are summed and written. */
  step(limit: number): boolean {
    if (this.unwritten.length > 0) this.database.transaction(() => this.write(limit))()
    else if (!this.read(limit) || this.paid.size >= PLACES_AT_ONCE) {
      if (this.paid.size === 0) return false
      this.unwritten = [...this.paid].sort(([a], [b]) => (a < b ? 1 : -1))
      this.paid.clear()
    }
    return true
  }

  close(): void {
    this.database.run(DROP)
  }

  /** False if there was nothing more to read. */
  private read(limit: number): boolean {
    const until = this.summed + BigInt(limit)
    let row = this.next.get(this.summed)
    if (!row) return false
    for (; row && this.summed < until; row = this.next.get(this.summed)) this.addRow(row)
    for (const [id, { nano, owedNano }] of this.accounts) {
      this.addAccount.run(id, nano, owedNano)
      if (this.account.get(id) === null) this.report("I2", `Entries refer to account ${id}, which does not exist.`)
    }
    this.accounts.clear()
    return true
  }

  private addRow(row: JournalSumColumns): void {
    if (row.first !== this.summed + 1n)
      this.report("I14", `The entries ${this.summed + 1n} to ${row.first - 1n} are missing.`)
    let id = row.first - 1n
    let all = NOTHING
    for (const entry of entriesOf(row)) {
      id += 1n
      this.addEntry(id, entry)
      all = addAmounts(all, entry.nano)
    }
    const { amount: account, funding, revenue, suspense, write_off: writeOff } = row
    const booked = { account, funding, revenue, suspense, writeOff }
    // A row stores debt and write-off together.
    const summed = { ...all, writeOff: all.writeOff + all.debt }
    for (const name of Object.keys(booked) as (keyof typeof booked)[])
      if (booked[name] !== summed[name])
        this.report(
          "I14",
          `The entries ${row.first} to ${id} move ${summed[name]} on ${name}, but ${booked[name]} was booked.`,
        )
    this.summed = id
  }

  private addEntry(id: bigint, entry: EntryRow): void {
    const { kind, nano, requestId, accountId, tenant, keyId, day } = entry
    const { account, funding, revenue, suspense, writeOff, debt } = nano
    const sum = account + funding + revenue + suspense + writeOff + debt
    if (sum !== 0n) this.report("I1", `Entry ${id} sums to ${sum} instead of zero.`)
    if (debt < 0n && kind !== "settled")
      this.report("I10", `Entry ${id} makes a debt of ${-debt}, but it is a ${kind} and not a settlement.`)
    if (suspense !== 0n) this.checkSuspense(id, entry)
    if (requestId !== null && !this.hasEndedAs(Number(id), requestId))
      this.report("I5", `Request ${requestId} is not known to have ended as entry ${id}.`)
    this.move(accountId, account, -debt)
    this.move(GATEWAY_ACCOUNT_IDS.funding, funding)
    this.move(GATEWAY_ACCOUNT_IDS.revenue, revenue)
    this.move(GATEWAY_ACCOUNT_IDS.suspense, suspense)
    this.move(GATEWAY_ACCOUNT_IDS["write-off"], writeOff)
    this.move(GATEWAY_ACCOUNT_IDS.debt, debt)
    if (tenant === null || keyId === null) return
    const spent = spentNano(nano)
    this.pay(`spend\n${monthOf(day)}\nkey:${escapeName(keyId)}\t${day}`, spent)
    this.pay(`spend\n${monthOf(day)}\ntenant:${escapeName(tenant)}\t${day}`, spent)
    this.pay(`usage\n${day}\n${escapeName(tenant)}\t${escapeName(keyId)}`, spent)
  }

  /** Suspense must be listed, and ended once, with the same amount. */
  private checkSuspense(id: bigint, { kind, requestId, eventId, nano: { suspense } }: EntryRow): void {
    const { entries } = this.state.ready()
    const row = entries.suspense.find(requestId ?? eventId ?? "")
    if (!endsSuspense(kind)) {
      this.suspended.begun += 1
      if (row?.entry !== id || suspense < 0n)
        this.report("I5", `The amount that entry ${id} put in suspense is not listed.`)
      return
    }
    this.suspended.ended += 1
    const begun = row && entries.get(Number(row.entry))
    if (row?.endedBy !== id || begun?.nano.suspense !== -suspense)
      this.report("I5", `Entry ${id} ends ${-suspense} in suspense, which another entry ended or which never existed.`)
  }

  /** A request must end once, and as nothing else. */
  private hasEndedAs(id: number, requestId: string): boolean {
    const known = this.state.ready().entries.ended.entryOf(requestId)
    if (known !== undefined) return known === id
    if (id <= this.state.flushed.entry || this.unflushed.has(requestId)) return false
    this.unflushed.add(requestId)
    return true
  }

  private move(accountId: number, nano: bigint, owedNano = 0n): void {
    const sum = this.accounts.get(accountId)
    if (!sum) this.accounts.set(accountId, { nano, owedNano })
    else {
      sum.nano += nano
      sum.owedNano += owedNano
    }
  }

  private pay(key: string, nano: bigint): void {
    this.paid.set(key, (this.paid.get(key) ?? 0n) + nano)
  }

  private write(limit: number): void {
    for (const [name, nano] of this.unwritten.splice(-limit).reverse()) {
      const [tree = "", part, lineKey = ""] = name.split("\n")
      this.addPaid.run(tree, Number(part), lineKey, nano)
    }
  }
}

function addAmounts(a: EntryAmounts, b: EntryAmounts): EntryAmounts {
  return {
    account: a.account + b.account,
    funding: a.funding + b.funding,
    revenue: a.revenue + b.revenue,
    suspense: a.suspense + b.suspense,
    writeOff: a.writeOff + b.writeOff,
    debt: a.debt + b.debt,
  }
}
