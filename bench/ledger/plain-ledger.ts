// The contract of the ledger's tables on plain tables, as far as a hold, a settlement, a receipt, a budget and a page of
// usage need it. Nothing is kept in memory between two statements.
import type { Database } from "bun:sqlite"
import {
  type BookedEntry,
  type DayRange,
  type EntryRow,
  type HoldRow,
  type LedgerAccountRow,
  type LedgerTable,
  spentNano,
  type UsageRow,
} from "../../src/store/contract.ts"

export function plainLedger(database: Database): LedgerTable {
  const epoch = database.query<{ value: bigint }, []>(
    "UPDATE marks SET value = value + 1 WHERE name = 'epoch' RETURNING value",
  )
  const touch = database.query("UPDATE marks SET value = value + 1 WHERE name = 'probes'")
  const insertPrice = database.query("INSERT OR IGNORE INTO prices VALUES (?1, ?2)")
  const findPrice = database.query<{ pricing: string }, [string]>("SELECT pricing FROM prices WHERE version = ?1")
  const accounts = accountTable(database)
  return {
    accounts,
    holds: holdTable(database),
    entries: entryTable(database),
    spend: spendTable(database),
    overshoots: { find: notMeasured, put: notMeasured },
    suspense: { find: notMeasured, page: () => [], countOpen: () => 0 },
    usage: { page: usagePages(database), dropBefore: notMeasured },
    receipts: { find: receiptFacts(database), dropBefore: notMeasured },
    prices: {
      insert: (version, pricing) => void insertPrice.run(version, pricing),
      find: (version) => findPrice.get(version)?.pricing,
      page: notMeasured,
    },
    transaction: runTransaction(database),
    nextEpoch: () => Number(epoch.get()?.value),
    touch: () => void touch.run(),
    flushIsDue: () => false,
    beginFlush: () => {},
    flush: () => false,
    compact: () => false,
    audit: notMeasured,
  }
}

function notMeasured(): never {
  throw new Error("the comparison has no such operation")
}

function runTransaction(database: Database): LedgerTable["transaction"] {
  const [begin, commit, rollback] = ["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"].map((sql) => database.query(sql))
  return (work) => {
    begin?.run()
    try {
      const result = work()
      commit?.run()
      return result
    } catch (thrown) {
      if (database.inTransaction) rollback?.run()
      throw thrown
    }
  }
}

type AccountColumns = Omit<LedgerAccountRow, "id"> & { readonly id: bigint }

function accountTable(database: Database): LedgerTable["accounts"] {
  const columns = "id, name, posted AS postedNano, held AS heldNano, floor AS floorNano, owed AS owedNano"
  const byName = database.query<AccountColumns, [string]>(`SELECT ${columns} FROM accounts WHERE name = ?1`)
  const byId = database.query<AccountColumns, [number]>(`SELECT ${columns} FROM accounts WHERE id = ?1`)
  const insert = database.query<AccountColumns, [string, bigint | null]>(
    `INSERT INTO accounts (name, floor) VALUES (?1, ?2) RETURNING ${columns}`,
  )
  const setFloor = database.query("UPDATE accounts SET floor = ?2 WHERE id = ?1")
  const toRow = (found: AccountColumns): LedgerAccountRow => ({ ...found, id: Number(found.id) })
  const find = (name: string) => {
    const found = byName.get(name)
    return found ? toRow(found) : undefined
  }
  return {
    find,
    payer: (keyId, tenant) => {
      const own = find(`key:${keyId}`)
      return own && own.floorNano !== null ? own : find(`tenant:${tenant}`)
    },
    get: (id) => toRow(byId.get(id) as AccountColumns),
    insert: (name, floorNano) => toRow(insert.get(name, floorNano) as AccountColumns),
    setFloor: (id, floorNano) => void setFloor.run(id, floorNano),
  }
}

interface HoldColumns extends Pick<HoldRow, "requestId" | "tenant" | "keyId" | "amountNano" | "lowerBoundNano"> {
  readonly accountId: bigint
  readonly day: bigint
  readonly epoch: bigint
  readonly at: bigint
}

function holdTable(database: Database): LedgerTable["holds"] {
  const columns = `request AS requestId, account AS accountId, tenant, key AS keyId, amount AS amountNano,
    lower_bound AS lowerBoundNano, day, epoch, at`
  const insert = database.query(
    `INSERT INTO holds SELECT ?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8
     WHERE NOT EXISTS (SELECT 1 FROM entries WHERE request = ?1) ON CONFLICT DO NOTHING`,
  )
  const find = database.query<HoldColumns, [string]>(`SELECT ${columns} FROM holds WHERE request = ?1`)
  const earlier = database.query<HoldColumns, [number, number]>(
    `SELECT ${columns} FROM holds WHERE epoch < ?1 ORDER BY at, request LIMIT ?2`,
  )
  const addToHeld = database.query("UPDATE accounts SET held = held + ?2 WHERE id = ?1")
  return {
    insert: ({ requestId, accountId, tenant, keyId, amountNano, day, epoch, at }) => {
      if (insert.run(requestId, accountId, tenant, keyId, amountNano, day, epoch, at).changes === 0) return false
      addToHeld.run(accountId, amountNano)
      return true
    },
    find: (requestId) => {
      const found = find.get(requestId)
      return found ? toHold(found) : undefined
    },
    grow: notMeasured,
    note: notMeasured,
    ofEarlierEpochs: (epoch, limit) => earlier.all(epoch, limit).map(toHold),
  }
}

function toHold({ accountId, day, epoch, at, ...found }: HoldColumns): HoldRow {
  return { ...found, accountId: Number(accountId), day: Number(day), epoch: Number(epoch), at: Number(at), budgets: [] }
}

interface EntryColumns {
  readonly id: bigint
  readonly kind: EntryRow["kind"]
  readonly request: string | null
  readonly event: string | null
  readonly tenant: string | null
  readonly key: string | null
  readonly day: bigint
  readonly at: bigint
  readonly account: bigint
  readonly amount: bigint
  readonly funding: bigint
  readonly revenue: bigint
  readonly suspense: bigint
  readonly write_off: bigint
  readonly debt: bigint
  readonly held: bigint | null
  readonly protocol: string | null
  readonly model: string | null
  readonly provider: string | null
  readonly price_version: string | null
  readonly counts: string | null
}

function entryTable(database: Database): LedgerTable["entries"] {
  const insert = database.query(
    `INSERT INTO entries VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
       ?19, ?20, ?21)`,
  )
  const endHold = database.query<{ amount: bigint }, [string]>("DELETE FROM holds WHERE request = ?1 RETURNING amount")
  const addTotals = totalsWriter(database)
  const byRequest = database.query<EntryColumns, [string]>("SELECT * FROM entries WHERE request = ?1")
  const byEvent = database.query<EntryColumns, [string]>("SELECT * FROM entries WHERE event = ?1")
  const byId = database.query<EntryColumns, [bigint]>("SELECT * FROM entries WHERE id = ?1")
  const toEntry = (found: EntryColumns | null) => (found ? toBookedEntry(found) : undefined)
  return {
    insert: (row, facts) => {
      const { kind, requestId, eventId, tenant, keyId, day, at, accountId, nano, heldNano, protocol, use } = row
      const freedNano = requestId === null ? 0n : (endHold.get(requestId)?.amount ?? 0n)
      insert.run(
        ...[kind, requestId, eventId, tenant, keyId, day, at, accountId],
        ...[nano.account, nano.funding, nano.revenue, nano.suspense, nano.writeOff, nano.debt, heldNano, protocol],
        ...[use?.model ?? null, use?.provider ?? null, use?.priceVersion ?? null],
        ...[use ? JSON.stringify(use.counts) : null, facts],
      )
      addTotals(row, freedNano)
    },
    ofRequest: (requestId) => toEntry(byRequest.get(requestId)),
    ofEvent: (eventId) => toEntry(byEvent.get(eventId)),
    get: (id) => toEntry(byId.get(id)),
  }
}

/** The balances of the entry's accounts, the spending of its key and tenant, and the usage of its day. */
function totalsWriter(database: Database): (row: EntryRow, freedNano: bigint) => void {
  const post = database.query("UPDATE accounts SET posted = posted + ?2 WHERE id = ?1")
  const postAndFree = database.query(
    "UPDATE accounts SET posted = posted + ?2, held = held - ?3, owed = owed - ?4 WHERE id = ?1",
  )
  const addSpend = database.query(
    "INSERT INTO spend VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET nano = nano + excluded.nano",
  )
  const addUsage = database.query(
    `INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9) ON CONFLICT DO UPDATE SET
       input = input + excluded.input, cached = cached + excluded.cached, output = output + excluded.output,
       requests = requests + 1, paid = paid + excluded.paid`,
  )
  return ({ accountId, nano, tenant, keyId, day, use }, freedNano) => {
    postAndFree.run(accountId, nano.account, freedNano, nano.debt)
    for (const [id, amount] of [nano.debt, nano.funding, nano.revenue, nano.suspense, nano.writeOff].entries())
      if (amount !== 0n) post.run(id, amount)
    if (!use || tenant === null || keyId === null) return
    const paid = spentNano(nano)
    addSpend.run(`key:${keyId}`, day, paid)
    addSpend.run(`tenant:${tenant}`, day, paid)
    const { input = 0, cacheRead = 0, output = 0 } = use.counts
    addUsage.run(day, tenant, keyId, use.model, use.provider, input, cacheRead, output, paid)
  }
}

function toBookedEntry(found: EntryColumns): BookedEntry {
  const { id, kind, tenant, protocol, model, provider, counts } = found
  const { amount: account, funding, revenue, suspense, write_off: writeOff, debt } = found
  const use = model !== null && provider !== null ? { model, provider } : null
  return {
    ...{ id, kind, tenant, protocol, requestId: found.request, eventId: found.event, keyId: found.key },
    ...{ day: Number(found.day), at: Number(found.at), accountId: Number(found.account), heldNano: found.held },
    nano: { account, funding, revenue, suspense, writeOff, debt },
    use: use && { ...use, priceVersion: found.price_version, counts: JSON.parse(counts ?? "{}") },
  }
}

function spendTable(database: Database): LedgerTable["spend"] {
  const between = database.query<{ nano: bigint | null }, [string, number, number]>(
    "SELECT sum(nano) AS nano FROM spend WHERE holder = ?1 AND day BETWEEN ?2 AND ?3",
  )
  const last = database.query<{ day: bigint | null }, [string, string, number]>(
    "SELECT max(day) AS day FROM spend WHERE holder IN (?1, ?2) AND day >= ?3",
  )
  const sum = (holder: string, { from, to }: DayRange = { from: 0, to: 1e9 }) =>
    between.get(holder, from, to)?.nano ?? 0n
  return {
    ofKey: (keyId, days) => sum(`key:${keyId}`, days),
    ofTenant: (tenant, days) => sum(`tenant:${tenant}`, days),
    latestDay: ({ keyId, tenant }, day) => Number(last.get(`key:${keyId}`, `tenant:${tenant}`, day)?.day ?? day),
  }
}

type UsageColumns = Record<"day" | "input" | "cached" | "output" | "requests" | "paid", bigint> &
  Record<"tenant" | "key" | "model" | "provider", string>

const NOT_COUNTED = {
  ...{ cacheWrite: 0, cacheWrite1h: 0, audioInput: 0, imageInput: 0 },
  ...{ reasoning: 0, audioOutput: 0, imageOutput: 0, images: 0 },
}

function usagePages(database: Database): LedgerTable["usage"]["page"] {
  const rows = database.query<UsageColumns, [number, number, string, number]>(
    `SELECT * FROM usage WHERE day BETWEEN ?1 AND ?2 AND tenant = ?3
     ORDER BY day, tenant, key, model, provider LIMIT ?4`,
  )
  return ({ from, to, tenant = "default", limit }) =>
    rows.all(from, to, tenant, limit).map(
      ({ day, key: keyId, input, cached, output, requests, paid, ...names }): UsageRow => ({
        ...names,
        ...NOT_COUNTED,
        ...{ day: Number(day), keyId, input: Number(input), cacheRead: Number(cached), output: Number(output) },
        ...{ requests: Number(requests), paidNano: paid },
      }),
    )
}

function receiptFacts(database: Database): LedgerTable["receipts"]["find"] {
  const facts = database.query<{ facts: string | null }, [bigint]>("SELECT facts FROM entries WHERE id = ?1")
  return (entryId) => facts.get(entryId)?.facts ?? "{}"
}
