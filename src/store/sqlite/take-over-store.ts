// Takes over a store of a version before the first release: adds what the initial schema has and the store lacks, and
// converts the rows that were written differently then.
import type { Database } from "bun:sqlite"
import { initialIndexes, initialRows, initialTables, initialTriggers, initialViews } from "./initial-schema.ts"

/** In the order in which they were added. */
const addedColumns: readonly (readonly [table: string, column: string, type: string])[] = [
  ["keys", "strict", "INTEGER NOT NULL DEFAULT 0"],
  ["keys", "addresses", "TEXT"],
  ["keys", "keep_answers", "INTEGER NOT NULL DEFAULT 0"],
  ["keys", "own_balance", "INTEGER NOT NULL DEFAULT 0"],
  ["keys", "protocols", "TEXT"],
  ["keys", "requests_per_minute", "INTEGER"],
  ["keys", "tokens_per_minute", "INTEGER"],
  ["keys", "concurrent_requests", "INTEGER"],
  ["keys", "budget_day", "INTEGER"],
  ["keys", "budget_week", "INTEGER"],
  ["keys", "budget_month", "INTEGER"],
  ["keys", "budget_total", "INTEGER"],
  ["keys", "strict_balance", "INTEGER NOT NULL DEFAULT 0"],
  ["keys", "hedge", "INTEGER NOT NULL DEFAULT 0"],
  ["keys", "model_map", "TEXT"],
  ["credentials", "settings", "TEXT"],
  ["account_rows", "owed", "INTEGER NOT NULL DEFAULT 0"],
  ["account_rows", "owed_before", "INTEGER NOT NULL DEFAULT 0"],
  ["repeats", "tenant", "TEXT NOT NULL DEFAULT ''"],
  ["repeat_answers", "tenant", "TEXT NOT NULL DEFAULT ''"],
  ["repeat_answers", "bytes", "INTEGER NOT NULL DEFAULT 0"],
]

const moveJournal = "ALTER TABLE journal RENAME TO journal_before;"

/** Receipts become facts of the journal, and ended requests are grouped in blocks. */
const joinReceipts = `
  INSERT INTO ledger_marks SELECT 'facts-from-entry', coalesce((SELECT min(first) FROM receipt_groups),
    (SELECT max(first + json_array_length(entries)) FROM journal_before), 1);
  INSERT INTO journal
    SELECT first, (SELECT value ->> 5 FROM json_each(entries) ORDER BY key DESC LIMIT 1),
      amount, funding, revenue, suspense, write_off,
      json_array(
        (SELECT json_group_array(json_array(value ->> 0, value ->> 2, value ->> 4, value ->> 6, NULL,
           value ->> '$[8][0]', value ->> '$[8][1]', value ->> '$[8][3]') ORDER BY key) FROM json_each(entries)),
        (SELECT json_group_array(json_array(key, value ->> 1, value ->> 3, value ->> 5, value -> 7, NULL,
           value -> '$[8][2]') ORDER BY key) FROM json_each(entries))),
      nullif((SELECT json_group_object(receipt_groups.first - booked.first + each.key, json(each.value))
         FROM receipt_groups, json_each('[' || replace(facts, char(10), ',') || ']') AS each
         WHERE receipt_groups.first >= booked.first AND receipt_groups.first < booked.next AND type <> 'null'), '{}')
    FROM (SELECT *, coalesce(lead(first) OVER (ORDER BY first), 1e18) AS next FROM journal_before) AS booked;
  INSERT INTO ended_requests
    SELECT era, 0, min(request), max(request), group_concat(request || char(9) || entry, char(10) ORDER BY request)
    FROM (SELECT request, entry, substr(request, 1, 8) AS era,
            row_number() OVER (PARTITION BY substr(request, 1, 8) ORDER BY request) / 80 AS block
          FROM requests WHERE entry <= (SELECT value FROM ledger_marks WHERE name = 'folded-entry'))
    GROUP BY era, block;
  DROP TABLE journal_before;
  DROP TABLE receipt_groups;
  DROP TABLE requests;`

/** Names and usage that entries or holds of one row have in common are written once. */
const shareNames = `
  UPDATE journal SET entries =
    (SELECT json_array(entries -> 0, json_group_array(value ->> 2 ORDER BY key), '',
       json_group_array(json_array(value ->> 0, value ->> 1, iif(value ->> 2 IS NULL, NULL, key), at - (value ->> 3),
         value -> 4, value -> 5, CASE json_type(value, '$[6]') WHEN 'object' THEN
           json_array(value -> '$[6].input', value -> '$[6].output', value -> '$[6].cacheRead',
             value -> '$[6].reasoning', value -> '$[6].audioInput', value -> '$[6].audioOutput',
             value -> '$[6].cacheWrite', value -> '$[6].cacheWrite1h', value -> '$[6].imageInput',
             value -> '$[6].imageOutput', value -> '$[6].images') END) ORDER BY key))
     FROM json_each(entries, '$[1]'));
  UPDATE hold_groups SET holds =
    (SELECT json_array(
       json_group_array(json_array(value ->> 1, value ->> 2, value ->> 3, value ->> 6) ORDER BY key),
       json_group_array(json_array(key, value ->> 0, value -> 4, value -> 5, value ->> 7) ORDER BY key))
     FROM json_each(holds));
  UPDATE ended_requests SET lines =
    (SELECT group_concat(char(9) || substr(value, instr(value, char(9)) + 1) || char(10) ||
       substr(value, 1, instr(value, char(9)) - 1), char(10) ORDER BY key)
     FROM json_each('["' || replace(replace(replace(replace(lines, '\\', '\\\\'), '"', '\\"'), char(9), '\\t'),
       char(10), '","') || '"]'));`

const listSuspense = `
  INSERT INTO suspended
    SELECT (entries ->> 2) || (value ->> 1), first + key, journal.at - (value ->> 3), NULL
    FROM journal, json_each(entries, '$[3]')
    WHERE journal.suspense > 0 AND CAST(coalesce(value ->> '$[4][3]', 0) AS INTEGER) > 0;`

/** The tenants of earlier idempotency records are not known: they count for none, and are dropped within a day. */
const sumRepeats = `
  UPDATE repeat_answers SET bytes = length(sealed);
  ALTER TABLE repeat_answers DROP COLUMN through;
  INSERT INTO repeat_sums
    SELECT '', count(*), (SELECT coalesce(sum(bytes), 0) FROM repeat_answers) FROM repeats HAVING count(*) > 0;
  INSERT INTO repeat_total SELECT coalesce(sum(rows), 0), coalesce(sum(bytes), 0) FROM repeat_sums;`

/** A conversion of the stores of some versions, both included. */
interface StoreConversion {
  readonly from: number
  readonly to: number
  readonly sql: string
}

const beforeTables: readonly StoreConversion[] = [{ from: 5, to: 9, sql: moveJournal }]
const afterTables: readonly StoreConversion[] = [
  { from: 5, to: 9, sql: joinReceipts },
  { from: 5, to: 10, sql: shareNames },
  { from: 5, to: 11, sql: listSuspense },
  { from: 6, to: 12, sql: sumRepeats },
]

/** Within a transaction of the caller. */
export function takeOverStore(database: Database, version: number): void {
  dropTriggersAndViews(database)
  convert(database, { version, conversions: beforeTables })
  database.run(initialTables)
  addColumns(database)
  database.run(initialIndexes)
  convert(database, { version, conversions: afterTables })
  database.run(initialRows)
  database.run(initialTriggers)
  database.run(initialViews)
}

function dropTriggersAndViews(database: Database): void {
  const found = database.query<{ type: string; name: string }, []>(
    "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')",
  )
  for (const { type, name } of found.all()) database.run(`DROP ${type} ${name}`)
}

interface StoreConversions {
  readonly version: number
  readonly conversions: readonly StoreConversion[]
}

function convert(database: Database, { version, conversions }: StoreConversions): void {
  for (const { from, to, sql } of conversions) if (version >= from && version <= to) database.run(sql)
}

function addColumns(database: Database): void {
  const find = database.query("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2")
  for (const [table, column, type] of addedColumns)
    if (!find.get(table, column)) database.run(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`)
}
