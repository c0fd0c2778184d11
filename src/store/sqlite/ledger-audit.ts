// Compares what the ledger says of itself with the sums of everything that was ever booked, in steps between which it
// may go on.
import type { Database } from "bun:sqlite"
import type { LedgerAudit, LedgerProblem } from "../contract.ts"
import { AuditSums, type Tell } from "./ledger-audit-sums.ts"
import { Holds } from "./ledger-holds.ts"
import { named, placeOf } from "./ledger-lines.ts"
import { Lookup } from "./ledger-lookup.ts"
import type { Runs } from "./ledger-runs.ts"
import type { Standing } from "./ledger-standing.ts"
import type { Tail } from "./ledger-tail.ts"

const MAX_PROBLEMS = 100

interface AuditOptions {
  readonly database: Database
  readonly standing: Standing
  /** Holds made before count as forgotten. */
  readonly openSince: number
}

/** One part of the proof, by up to `limit` rows more; false when it has been through all of them. */
type Walk = (limit: number) => boolean

export function ledgerAudit(options: AuditOptions): LedgerAudit {
  const problems: LedgerProblem[] = []
  const tell = (invariant: string, what: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ invariant, what })
  }
  const sums = new AuditSums(options, tell)
  const walks = [once, accounts, spending, usage, spendLines, usageLines].map((walk) => walk(options, tell))
  walks.push(suspense(options, { sums, tell }))
  const compare = (limit: number): boolean => {
    // What was booked between two steps is told of already, so it has to be in the sums.
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

/** What is soon looked through: triggers and open holds. */
function once({ database, standing, openSince }: AuditOptions, tell: Tell): Walk {
  const trigger = database.query<unknown, [string]>("SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = ?1")
  const epoch = database.query<{ value: bigint }, []>("SELECT value FROM ledger_marks WHERE name = 'epoch'")
  return () => {
    for (const name of TRIGGERS)
      if (trigger.get(name) === null) tell("I14", `The trigger ${name}, which keeps what is booked as it is, is gone.`)
    const { entries, holds } = standing.ready()
    const durable = new Holds(database, entries)
    durable.load()
    const current = Number(epoch.get()?.value)
    for (const { requestId, amountNano, at, epoch: made } of durable.all()) {
      if (holds.find(requestId)?.amountNano !== amountNano)
        tell("I3", `Request ${requestId} holds ${amountNano}, which does not count.`)
      if (at < openSince || made < current) tell("I6", `The hold of request ${requestId} is still open.`)
    }
    return false
  }
}

/** What is posted is the sum of the entries (I2), what is held that of the open holds (I3), and enough is left (I4). */
function accounts({ database, standing }: AuditOptions, tell: Tell): Walk {
  const page = database.query<{ id: bigint; sum: bigint; owed: bigint }, [bigint, number]>(
    `SELECT id, coalesce(sum, 0) AS sum, coalesce(audit_accounts.owed, 0) AS owed
     FROM account_rows LEFT JOIN temp.audit_accounts ON account = id WHERE id > ?1 ORDER BY id LIMIT ?2`,
  )
  let before = -1n
  return (limit) => {
    const held = new Map<number, bigint>()
    for (const { accountId, amountNano } of standing.ready().holds.all())
      held.set(accountId, (held.get(accountId) ?? 0n) + amountNano)
    const rows = page.all(before, limit)
    for (const { id: numbered, sum, owed } of rows) {
      const id = Number(numbered)
      const { name, postedNano, heldNano, floorNano, owedNano } = standing.accounts.get(id)
      const open = held.get(id) ?? 0n
      if (postedNano !== sum) tell("I2", `Account ${name} has ${postedNano}, and its entries sum to ${sum}.`)
      if (owedNano !== owed || owed < 0n) tell("I10", `Account ${name} owes ${owedNano}, and by its entries ${owed}.`)
      if (heldNano !== open) tell("I3", `Account ${name} holds ${heldNano}, and its open holds sum to ${open}.`)
      if (floorNano !== null && postedNano - heldNano < floorNano)
        tell("I4", `Account ${name} has ${postedNano - heldNano} free, below its floor of ${floorNano}.`)
    }
    standing.accounts.trim()
    before = rows.at(-1)?.id ?? before
    return rows.length > 0
  }
}

/** Whatever is listed as in suspense, or as ended, was booked so (I5). */
function suspense({ database }: AuditOptions, { sums, tell }: { readonly sums: AuditSums; readonly tell: Tell }): Walk {
  const listed = database.query<{ begun: bigint; ended: bigint }, []>(
    "SELECT count(*) AS begun, count(ended_by) AS ended FROM suspended",
  )
  return () => {
    const { begun, ended } = listed.get() ?? { begun: 0n, ended: 0n }
    const { suspended } = sums
    if (Number(begun) !== suspended.begun || Number(ended) !== suspended.ended)
      tell(
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
  readonly runs: Runs
  /** The first part whose lines were not dropped. */
  readonly firstPart: () => number
  readonly check: (row: {
    readonly part: number
    readonly place: string
    readonly sum: bigint
    readonly foldedNano: bigint
  }) => void
}

/** What was paid at every place, and what the runs say of it. */
function paidWalk(database: Database, { runs, firstPart, check }: PaidWalk): Walk {
  const page = database.query<PaidColumns, [bigint, string, number, number]>(
    `SELECT part, place, sum FROM temp.audit_paid
     WHERE tree = '${runs.tree}' AND (part, place) > (?1, ?2) AND part >= ?3 ORDER BY part, place LIMIT ?4`,
  )
  let before: PaidColumns = { part: 0n, place: "", sum: 0n }
  return (limit) => {
    const lookup = new Lookup(runs)
    const rows = page.all(before.part, before.place, firstPart(), limit)
    for (const { part: numbered, place, sum } of rows) {
      const part = Number(numbered)
      check({ part, place, sum, foldedNano: lookup.paid(part, `${place}\t`) })
    }
    before = rows.at(-1) ?? before
    return rows.length > 0
  }
}

/** What keys and tenants paid is what their spending says (I15). */
function spending({ database, standing }: AuditOptions, tell: Tell): Walk {
  return paidWalk(database, {
    runs: standing.spend,
    firstPart: () => 0,
    check: ({ place, sum, foldedNano }) => {
      const [holder = "", counted] = place.split("\t").map(named)
      const day = Number(counted)
      let nano = foldedNano
      for (const tail of standing.ready().tails.all()) nano += paidBy(tail, { holder, day })
      if (nano !== sum) tell("I15", `${holder} has spent ${nano} on day ${day}, and paid ${sum}.`)
    },
  })
}

function paidBy(tail: Tail, { holder, day }: { readonly holder: string; readonly day: number }): bigint {
  const days = { from: day, to: day }
  const name = holder.slice(holder.indexOf(":") + 1)
  return holder.startsWith("key:") ? tail.paidByKey(name, days) : tail.paidByTenant(name, days)
}

/** What keys paid is what their usage says (I15). */
function usage({ database, standing }: AuditOptions, tell: Tell): Walk {
  const from = database.query<{ value: bigint }, []>("SELECT value FROM ledger_marks WHERE name = 'usage-from-day'")
  return paidWalk(database, {
    runs: standing.usage,
    firstPart: () => Number(from.get()?.value),
    check: ({ part: day, place, sum, foldedNano }) => {
      const [tenant = "", keyId = ""] = place.split("\t").map(named)
      let nano = foldedNano
      for (const { usage } of standing.ready().tails.all())
        for (let sum = usage.get(keyId); sum; sum = sum.next)
          if (sum.tenant === tenant && sum.day === day) nano += sum.paidNano
      if (nano !== sum) tell("I15", `Key ${keyId} of ${tenant} paid ${sum} on day ${day}, and its usage says ${nano}.`)
    },
  })
}

/** Spending that nobody booked (I15). */
function spendLines({ database, standing }: AuditOptions, tell: Tell): Walk {
  return lineWalk(database, {
    runs: standing.spend,
    placeOf: (line) => placeOf(line),
    tell: (_, place) => tell("I15", `${place.map(named).join(" has spent on day ")}, and nothing was booked.`),
  })
}

/** Usage that nobody booked (I15). */
function usageLines({ database, standing }: AuditOptions, tell: Tell): Walk {
  return lineWalk(database, {
    runs: standing.usage,
    placeOf: (line) => line.split("\t", 2).join("\t"),
    tell: (day, [tenant = "", key = ""]) =>
      tell("I15", `Key ${named(key)} of ${named(tenant)} used something on day ${day}, which was never booked.`),
  })
}

interface LineWalk {
  readonly runs: Runs
  /** As the sums have it. */
  readonly placeOf: (line: string) => string
  readonly tell: (part: number, place: string[]) => void
}

/** What is merged meanwhile comes once more; nothing is passed over. */
function lineWalk(database: Database, { runs, placeOf, tell }: LineWalk): Walk {
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
        const place = placeOf(line)
        if (known.get(block.part, place) === null) tell(Number(block.part), place.split("\t"))
      }
      looked += lines.length
      before = block.id
    }
    return true
  }
}
