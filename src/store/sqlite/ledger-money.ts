// Accounts, holds and what is booked.
import type { Database } from "bun:sqlite"
import type {
  BookedEntry,
  EntryKind,
  EntryTable,
  HoldRow,
  HoldTable,
  LedgerAccountRow,
  LedgerAccountTable,
} from "../contract.ts"

const ACCOUNT = "id, name, posted AS postedNano, held AS heldNano, floor AS floorNano"

export function accountTable(database: Database): LedgerAccountTable {
  const byName = database.query<LedgerAccountRow, [string]>(`SELECT ${ACCOUNT} FROM ledger_accounts WHERE name = ?1`)
  const byId = database.query<LedgerAccountRow, [bigint]>(`SELECT ${ACCOUNT} FROM ledger_accounts WHERE id = ?1`)
  const insert = database.query<LedgerAccountRow, [string, bigint | null]>(
    `INSERT INTO ledger_accounts (name, posted, held, floor) VALUES (?1, 0, 0, ?2) RETURNING ${ACCOUNT}`,
  )
  const move = database.query(
    `UPDATE ledger_accounts SET posted = posted + ?2, held = held + ?3
     WHERE id = ?1 AND (floor IS NULL OR posted + ?2 - (held + ?3) >= floor)`,
  )
  const setFloor = database.query(
    "UPDATE ledger_accounts SET floor = ?2 WHERE id = ?1 AND (?2 IS NULL OR posted - held >= ?2)",
  )
  const one = (row: LedgerAccountRow | null): LedgerAccountRow => {
    if (!row) throw new Error("the ledger has no such account")
    return row
  }
  return {
    find: (name) => byName.get(name) ?? undefined,
    get: (id) => one(byId.get(id)),
    insert: (name, floorNano) => one(insert.get(name, floorNano)),
    move: (id, { postedNano, heldNano }) => move.run(id, postedNano, heldNano).changes > 0,
    setFloor: (id, floorNano) => setFloor.run(id, floorNano).changes > 0,
  }
}

interface HoldColumns {
  readonly request: string
  readonly account: bigint
  readonly tenant: string
  readonly key: string
  readonly amount: bigint
  readonly lower_bound: bigint
  readonly day: bigint
  readonly epoch: bigint
  readonly at: bigint
  readonly budgets: string | null
}

export function holdTable(database: Database): HoldTable {
  const insert = database.query(
    `INSERT INTO holds SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
     WHERE NOT EXISTS (SELECT 1 FROM entries WHERE request = ?1)
     ON CONFLICT DO NOTHING`,
  )
  const find = database.query<HoldColumns, [string]>("SELECT * FROM holds WHERE request = ?1")
  const grow = database.query("UPDATE holds SET amount = amount + ?2 WHERE request = ?1")
  const note = database.query("UPDATE holds SET lower_bound = max(lower_bound, ?2) WHERE request = ?1")
  const remove = database.query("DELETE FROM holds WHERE request = ?1")
  const earlier = database.query<HoldColumns, [number, number]>("SELECT * FROM holds WHERE epoch < ?1 LIMIT ?2")
  return {
    insert: ({ requestId, accountId, tenant, keyId, amountNano, lowerBoundNano, day, epoch, at, budgets }) =>
      insert.run(requestId, accountId, tenant, keyId, amountNano, lowerBoundNano, day, epoch, at, budgets).changes > 0,
    find: (requestId) => holdOf(find.get(requestId)),
    grow: (requestId, byNano) => void grow.run(requestId, byNano),
    note: (requestId, lowerBoundNano) => void note.run(requestId, lowerBoundNano),
    remove: (requestId) => remove.run(requestId).changes > 0,
    ofEarlierEpochs: (epoch, limit) => earlier.all(epoch, limit).flatMap((columns) => holdOf(columns) ?? []),
  }
}

function holdOf(columns: HoldColumns | null): HoldRow | undefined {
  if (!columns) return undefined
  return {
    requestId: columns.request,
    accountId: columns.account,
    tenant: columns.tenant,
    keyId: columns.key,
    amountNano: columns.amount,
    lowerBoundNano: columns.lower_bound,
    day: Number(columns.day),
    epoch: Number(columns.epoch),
    at: Number(columns.at),
    budgets: columns.budgets,
  }
}

interface EntryColumns {
  readonly id: bigint
  readonly kind: EntryKind
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
}

export function entryTable(database: Database): EntryTable {
  const insert = database.query(
    `INSERT INTO entries (kind, request, event, tenant, key, day, at, account, amount, funding, revenue, suspense, write_off)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`,
  )
  const ofRequest = database.query<EntryColumns, [string]>("SELECT * FROM entries WHERE request = ?1")
  const ofEvent = database.query<EntryColumns, [string]>("SELECT * FROM entries WHERE event = ?1")
  return {
    insert: ({ kind, requestId, eventId, tenant, keyId, day, at, accountId, nano }) => {
      const { account, funding, revenue, suspense, writeOff } = nano
      const who = [kind, requestId, eventId, tenant, keyId, day, at, accountId] as const
      return insert.run(...who, account, funding, revenue, suspense, writeOff).lastInsertRowid as bigint
    },
    ofRequest: (requestId) => entryOf(ofRequest.get(requestId)),
    ofEvent: (eventId) => entryOf(ofEvent.get(eventId)),
  }
}

function entryOf(columns: EntryColumns | null): BookedEntry | undefined {
  if (!columns) return undefined
  const { id, kind, request, event, tenant, key, day, at, account, amount, funding, revenue, suspense } = columns
  const nano = { account: amount, funding, revenue, suspense, writeOff: columns.write_off }
  const who = { kind, requestId: request, eventId: event, tenant, keyId: key, accountId: account }
  return { id, ...who, day: Number(day), at: Number(at), nano }
}
