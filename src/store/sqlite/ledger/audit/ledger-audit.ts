// Compares the ledger's own totals with the sums of all entries, in steps between which it may go on.
import type { Database } from "bun:sqlite"
import type { LedgerAudit, LedgerProblem } from "../../../contract.ts"
import type { LedgerState } from "../ledger-state.ts"
import type { Memtable } from "../memtable.ts"
import { OpenHolds } from "../open-holds.ts"
import { lineKeyOf, unescapeName } from "../runs/run-lines.ts"
import type { SortedRuns } from "../runs/sorted-runs.ts"
import { AuditSums, type ReportProblem } from "./audit-sums.ts"
import { PaidSumLookup } from "./paid-sum-lookup.ts"

const MAX_PROBLEMS = 100

interface AuditOptions {
  readonly database: Database
  readonly state: LedgerState
  /** Holds made before count as forgotten. */
  readonly openSince: number
}

/** One part of the audit; checks up to `limit` more rows, and returns false when it has checked all of them. */
type AuditWalk = (limit: number) => boolean

export function startLedgerAudit(options: AuditOptions): LedgerAudit {
  const problems: LedgerProblem[] = []
  const reportProblem = (invariant: string, what: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ invariant, what })
  }
  const sums = new AuditSums(options, reportProblem)
  const walks = [checkTriggersAndHolds, checkAccounts, checkSpending, checkUsage, checkSpendLines, checkUsageLines].map(
    (walk) => walk(options, reportProblem),
  )
  walks.push(checkSuspense(options, { sums, reportProblem }))
  const compare = (limit: number): boolean => {
    // Entries booked between two steps are already counted, so the sums must include them.
    while (sums.step(limit));
    const [walk] = walks
    if (!walk) return false
    if (!walk(limit)) walks.shift()
    return true
  }
  return { sum: (limit) => sums.step(limit), compare, problems, close: () => sums.close() }
}

const TRIGGERS = [
  ...["journal_stays", "journal_as_booked", "journal_facts_go", "ended_stay", "ended_as_booked"],
  ...["prices_stay", "prices_as_charged", "suspended_stay", "suspended_end_once"],
]

/** The quick checks: triggers and open holds. */
function checkTriggersAndHolds({ database, state, openSince }: AuditOptions, reportProblem: ReportProblem): AuditWalk {
  const trigger = database.query<unknown, [string]>("SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = ?1")
  const epoch = database.query<{ value: bigint }, []>("SELECT value FROM ledger_marks WHERE name = 'epoch'")
  return () => {
    for (const name of TRIGGERS)
      if (trigger.get(name) === null)
        reportProblem("I14", `The trigger ${name}, which protects booked entries from changes, is missing.`)
    const { entries, holds } = state.ready()
    const durable = new OpenHolds(database, entries)
    durable.load()
    const current = Number(epoch.get()?.value)
    for (const { requestId, amountNano, at, epoch: made } of durable.all()) {
      if (holds.find(requestId)?.amountNano !== amountNano)
        reportProblem("I3", `Request ${requestId} holds ${amountNano}, which does not count.`)
      if (at < openSince || made < current) reportProblem("I6", `The hold of request ${requestId} is still open.`)
    }
    return false
  }
}

/**
 * The posted amount is the sum of the entries (I2), the held amount that of the open holds (I3), and enough is left
 * (I4).
 */
function checkAccounts({ database, state }: AuditOptions, reportProblem: ReportProblem): AuditWalk {
  const page = database.query<{ id: bigint; sum: bigint; owed: bigint }, [bigint, number]>(
    `SELECT id, coalesce(sum, 0) AS sum, coalesce(audit_accounts.owed, 0) AS owed
     FROM account_rows LEFT JOIN temp.audit_accounts ON account = id WHERE id > ?1 ORDER BY id LIMIT ?2`,
  )
  let before = -1n
  return (limit) => {
    const held = new Map<number, bigint>()
    for (const { accountId, amountNano } of state.ready().holds.all())
      held.set(accountId, (held.get(accountId) ?? 0n) + amountNano)
    const rows = page.all(before, limit)
    for (const { id: numbered, sum, owed } of rows) {
      const id = Number(numbered)
      const { name, postedNano, heldNano, floorNano, owedNano } = state.accounts.get(id)
      const open = held.get(id) ?? 0n
      if (postedNano !== sum) reportProblem("I2", `Account ${name} has ${postedNano}, and its entries sum to ${sum}.`)
      if (owedNano !== owed || owed < 0n)
        reportProblem("I10", `Account ${name} owes ${owedNano}, and by its entries ${owed}.`)
      if (heldNano !== open)
        reportProblem("I3", `Account ${name} holds ${heldNano}, and its open holds sum to ${open}.`)
      if (floorNano !== null && postedNano - heldNano < floorNano)
        reportProblem("I4", `Account ${name} has ${postedNano - heldNano} free, below its floor of ${floorNano}.`)
    }
    state.accounts.trim()
    before = rows.at(-1)?.id ?? before
    return rows.length > 0
  }
}

/** Every row listed as in suspense, or as ended, was booked so (I5). */
function checkSuspense(
  { database }: AuditOptions,
  { sums, reportProblem }: { readonly sums: AuditSums; readonly reportProblem: ReportProblem },
): AuditWalk {
  const listed = database.query<{ begun: bigint; ended: bigint }, []>(
    "SELECT count(*) AS begun, count(ended_by) AS ended FROM suspended",
  )
  return () => {
    const { begun, ended } = listed.get() ?? { begun: 0n, ended: 0n }
    const { suspended } = sums
    if (Number(begun) !== suspended.begun || Number(ended) !== suspended.ended)
      reportProblem(
        "I5",
        `${begun} requests are listed in suspense and ${ended} of them as ended; booked were ${suspended.begun} and ${suspended.ended}.`,
      )
    return false
  }
}

interface PaidColumns {
  readonly part: bigint
  readonly place: string
  readonly sum: bigint
}

interface PaidWalk {
  readonly runs: SortedRuns
  /** The first part whose lines were not dropped. */
  readonly firstPart: () => number
  readonly check: (row: {
    readonly part: number
    readonly place: string
    readonly sum: bigint
    readonly flushedNano: bigint
  }) => void
}

/** Compares every paid sum with the runs. */
function walkPaidSums(database: Database, { runs, firstPart, check }: PaidWalk): AuditWalk {
  const page = database.query<PaidColumns, [bigint, string, number, number]>(
    `SELECT part, place, sum FROM temp.audit_paid
     WHERE tree = '${runs.tree}' AND (part, place) > (?1, ?2) AND part >= ?3 ORDER BY part, place LIMIT ?4`,
  )
  let before: PaidColumns = { part: 0n, place: "", sum: 0n }
  return (limit) => {
    const lookup = new PaidSumLookup(runs)
    const rows = page.all(before.part, before.place, firstPart(), limit)
    for (const { part: numbered, place, sum } of rows) {
      const part = Number(numbered)
      check({ part, place, sum, flushedNano: lookup.paid(part, `${place}\t`) })
    }
    before = rows.at(-1) ?? before
    return rows.length > 0
  }
}

/** Payments of keys and tenants equal their spending totals (I15). */
function checkSpending({ database, state }: AuditOptions, reportProblem: ReportProblem): AuditWalk {
  return walkPaidSums(database, {
    runs: state.spend,
    firstPart: () => 0,
    check: ({ place, sum, flushedNano }) => {
      const [holder = "", counted] = place.split("\t").map(unescapeName)
      const day = Number(counted)
      let nano = flushedNano
      for (const memtable of state.ready().memtables.all()) nano += paidInMemtable(memtable, { holder, day })
      if (nano !== sum) reportProblem("I15", `${holder} has spent ${nano} on day ${day}, and paid ${sum}.`)
    },
  })
}

function paidInMemtable(
  memtable: Memtable,
  { holder, day }: { readonly holder: string; readonly day: number },
): bigint {
  const days = { from: day, to: day }
  const name = holder.slice(holder.indexOf(":") + 1)
  return holder.startsWith("key:") ? memtable.paidByKey(name, days) : memtable.paidByTenant(name, days)
}

/** Payments of keys equal their usage totals (I15). */
function checkUsage({ database, state }: AuditOptions, reportProblem: ReportProblem): AuditWalk {
  const from = database.query<{ value: bigint }, []>("SELECT value FROM ledger_marks WHERE name = 'usage-from-day'")
  return walkPaidSums(database, {
    runs: state.usage,
    firstPart: () => Number(from.get()?.value),
    check: ({ part: day, place, sum, flushedNano }) => {
      const [tenant = "", keyId = ""] = place.split("\t").map(unescapeName)
      let nano = flushedNano
      for (const { usage } of state.ready().memtables.all())
        for (let sum = usage.get(keyId); sum; sum = sum.next)
          if (sum.tenant === tenant && sum.day === day) nano += sum.paidNano
      if (nano !== sum)
        reportProblem("I15", `Key ${keyId} of ${tenant} paid ${sum} on day ${day}, and its usage says ${nano}.`)
    },
  })
}

/** Spending without entries (I15). */
function checkSpendLines({ database, state }: AuditOptions, reportProblem: ReportProblem): AuditWalk {
  return walkLines(database, {
    runs: state.spend,
    lineKeyOf: (line) => lineKeyOf(line),
    report: (_, key) =>
      reportProblem("I15", `${key.map(unescapeName).join(" has spent on day ")}, and nothing was booked.`),
  })
}

/** Usage without entries (I15). */
function checkUsageLines({ database, state }: AuditOptions, reportProblem: ReportProblem): AuditWalk {
  return walkLines(database, {
    runs: state.usage,
    lineKeyOf: (line) => line.split("\t", 2).join("\t"),
    report: (day, [tenant = "", key = ""]) =>
      reportProblem(
        "I15",
        `Key ${unescapeName(key)} of ${unescapeName(tenant)} has usage on day ${day} that was never booked.`,
      ),
  })
}

interface LineWalk {
  readonly runs: SortedRuns
  /** The key as the paid sums have it. */
  readonly lineKeyOf: (line: string) => string
  readonly report: (part: number, key: string[]) => void
}

/** Lines that are merged meanwhile are checked again; none is missed. */
function walkLines(database: Database, { runs, lineKeyOf, report }: LineWalk): AuditWalk {
  const { tree } = runs
  const next = database.query<{ id: bigint; part: bigint; lines: string }, [bigint]>(
    `SELECT id, part, lines FROM ${tree} WHERE id > ?1 ORDER BY id LIMIT 1`,
  )
  const known = database.query<unknown, [bigint, string]>(
    `SELECT 1 FROM temp.audit_paid WHERE tree = '${tree}' AND part = ?1 AND place = ?2`,
  )
  let before = 0n
  return (limit) => {
    for (let looked = 0; looked < limit; ) {
      const block = next.get(before)
      if (!block) return false
      const lines = block.lines.split("\n")
      for (const line of lines) {
        const key = lineKeyOf(line)
        if (known.get(block.part, key) === null) report(Number(block.part), key.split("\t"))
      }
      looked += lines.length
      before = block.id
    }
    return true
  }
}
