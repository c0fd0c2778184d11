// Sums everything that was ever booked, in steps, and compares the sums with what the ledger says of itself.
// The sums stand in temporary tables, so that memory does not grow with the ledger.
import type { Database, SQLQueryBindings } from "bun:sqlite"
import { HOUSE_ACCOUNTS, type HouseAccount, type LedgerAudit, type LedgerProblem } from "../contract.ts"
import { TOTAL_DAY } from "./total-day.ts"

const MAX_PROBLEMS = 100

const SCRATCH = `
  DROP TABLE IF EXISTS temp.audit_accounts;
  DROP TABLE IF EXISTS temp.audit_spent;
  DROP TABLE IF EXISTS temp.audit_paid;`
const SCRATCH_TABLES = `${SCRATCH}
  CREATE TEMP TABLE audit_accounts (account INTEGER PRIMARY KEY, sum INTEGER NOT NULL) STRICT;
  CREATE TEMP TABLE audit_spent (
    holder TEXT NOT NULL, day INTEGER NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (holder, day)
  ) STRICT, WITHOUT ROWID;
  CREATE TEMP TABLE audit_paid (
    key TEXT NOT NULL, day INTEGER NOT NULL, tenant TEXT NOT NULL, paid INTEGER NOT NULL,
    PRIMARY KEY (key, day, tenant)
  ) STRICT, WITHOUT ROWID;`

/** The account a column of an entry moves. */
const COLUMNS: Readonly<Record<HouseAccount, string>> = {
  funding: "funding",
  revenue: "revenue",
  suspense: "suspense",
  "write-off": "write_off",
}

/** For the entries from ?1 to ?2, both included. */
const SUMS = [
  `INSERT INTO temp.audit_accounts
   SELECT account, sum(amount) FROM entries WHERE id BETWEEN ?1 AND ?2 GROUP BY account
   ON CONFLICT DO UPDATE SET sum = sum + excluded.sum`,
  ...HOUSE_ACCOUNTS.map(
    (name) => `INSERT INTO temp.audit_accounts
      SELECT (SELECT id FROM ledger_accounts WHERE name = '${name}'), coalesce(sum(${COLUMNS[name]}), 0)
      FROM entries WHERE id BETWEEN ?1 AND ?2
      ON CONFLICT DO UPDATE SET sum = sum + excluded.sum`,
  ),
  `INSERT INTO temp.audit_paid
   SELECT key, day, tenant, -sum(amount) FROM entries
   WHERE id BETWEEN ?1 AND ?2 AND key IS NOT NULL GROUP BY key, day, tenant
   ON CONFLICT DO UPDATE SET paid = paid + excluded.paid`,
  ...["'key:' || key", "'tenant:' || tenant"].flatMap((holder) =>
    ["day", String(TOTAL_DAY)].map(
      (day) => `INSERT INTO temp.audit_spent
        SELECT ${holder} AS holder, ${day} AS on_day, -sum(amount) FROM entries
        WHERE id BETWEEN ?1 AND ?2 AND key IS NOT NULL GROUP BY holder, on_day
        ON CONFLICT DO UPDATE SET sum = sum + excluded.sum`,
    ),
  ),
]

interface Found {
  readonly what: string
}

/** For the entries from ?1 to ?2, both included. */
const IN_ENTRIES: readonly [string, string][] = [
  [
    "I1",
    `SELECT 'Entry ' || id || ' sums to ' || (amount + funding + revenue + suspense + write_off) || ' and not to zero.'
       AS what FROM entries
     WHERE id BETWEEN ?1 AND ?2 AND amount + funding + revenue + suspense + write_off <> 0`,
  ],
  [
    "I2",
    `SELECT 'Entry ' || id || ' books on account ' || account || ', which is not there.' AS what
     FROM entries WHERE id BETWEEN ?1 AND ?2 AND account NOT IN (SELECT id FROM ledger_accounts)`,
  ],
  [
    "I14",
    `SELECT 'Of the entries ' || ?1 || ' to ' || ?2 || ' only ' || count(*) || ' are there.' AS what
     FROM entries WHERE id BETWEEN ?1 AND ?2 HAVING count(*) <> ?2 - ?1 + 1`,
  ],
]

/** A walk through a table, `next` giving the last row of a page and `problems` what is wrong within the page. */
interface Walk {
  readonly start: readonly SQLQueryBindings[]
  /** Binds the row before the page, then the page's size. */
  readonly next: string
  /** Bind the row before the page, then the page's last row. */
  readonly problems: readonly [string, string][]
}

const ACCOUNTS: Walk = {
  start: [0],
  next: "SELECT max(id) AS id FROM (SELECT id FROM ledger_accounts WHERE id > ?1 ORDER BY id LIMIT ?2) HAVING id > 0",
  problems: [
    [
      "I2",
      `SELECT 'Account ' || name || ' stands at ' || posted || ', and its entries sum to ' || coalesce(sum, 0) || '.' AS what
       FROM ledger_accounts LEFT JOIN temp.audit_accounts ON account = id
       WHERE id > ?1 AND id <= ?2 AND posted <> coalesce(sum, 0)`,
    ],
    [
      "I3",
      `SELECT 'Account ' || name || ' holds ' || held || ', and its open holds sum to ' || coalesce(sum, 0) || '.' AS what
       FROM ledger_accounts LEFT JOIN (SELECT account, sum(amount) AS sum FROM holds GROUP BY account) ON account = id
       WHERE id > ?1 AND id <= ?2 AND held <> coalesce(sum, 0)`,
    ],
    [
      "I4",
      `SELECT 'Account ' || name || ' has ' || (posted - held) || ' free, below its floor of ' || floor || '.' AS what
       FROM ledger_accounts WHERE id > ?1 AND id <= ?2 AND posted - held < floor`,
    ],
  ],
}

const SPEND: Walk = {
  start: ["", TOTAL_DAY - 1],
  next: `SELECT holder, day FROM
         (SELECT holder, day FROM spend WHERE (holder, day) > (?1, ?2) ORDER BY holder, day LIMIT ?3)
         ORDER BY holder DESC, day DESC LIMIT 1`,
  problems: [
    [
      "I15",
      `SELECT s.holder || ' has spent ' || spent || ' on day ' || s.day || ', and paid ' || coalesce(sum, 0) || '.' AS what
       FROM spend s LEFT JOIN temp.audit_spent a ON a.holder = s.holder AND a.day = s.day
       WHERE (s.holder, s.day) > (?1, ?2) AND (s.holder, s.day) <= (?3, ?4) AND spent <> coalesce(sum, 0)`,
    ],
    [
      "I3",
      `WITH each AS (SELECT 'key:' || key AS holder, day, amount FROM holds
                     UNION ALL SELECT 'tenant:' || tenant, day, amount FROM holds),
         open AS (SELECT holder, day, sum(amount) AS sum FROM each GROUP BY holder, day
                  UNION ALL SELECT holder, ${TOTAL_DAY}, sum(amount) FROM each GROUP BY holder)
       SELECT s.holder || ' holds ' || held || ' of day ' || s.day || ', and its open holds sum to '
         || coalesce(sum, 0) || '.' AS what
       FROM spend s LEFT JOIN open o ON o.holder = s.holder AND o.day = s.day
       WHERE (s.holder, s.day) > (?1, ?2) AND (s.holder, s.day) <= (?3, ?4) AND held <> coalesce(sum, 0)`,
    ],
  ],
}

const SPENT: Walk = {
  start: ["", TOTAL_DAY - 1],
  next: `SELECT holder, day FROM
         (SELECT holder, day FROM temp.audit_spent WHERE (holder, day) > (?1, ?2) ORDER BY holder, day LIMIT ?3)
         ORDER BY holder DESC, day DESC LIMIT 1`,
  problems: [
    [
      "I15",
      `SELECT holder || ' paid ' || sum || ' on day ' || day || ', which its spending does not know.' AS what
       FROM temp.audit_spent a WHERE (holder, day) > (?1, ?2) AND (holder, day) <= (?3, ?4)
         AND NOT EXISTS (SELECT 1 FROM spend s WHERE s.holder = a.holder AND s.day = a.day)`,
    ],
  ],
}

const PAID: Walk = {
  start: ["", TOTAL_DAY - 1, ""],
  next: `SELECT key, day, tenant FROM
         (SELECT key, day, tenant FROM temp.audit_paid WHERE (key, day, tenant) > (?1, ?2, ?3)
          ORDER BY key, day, tenant LIMIT ?4)
         ORDER BY key DESC, day DESC, tenant DESC LIMIT 1`,
  problems: [
    [
      "I15",
      `SELECT 'Key ' || key || ' of ' || tenant || ' paid ' || paid || ' on day ' || day || ', and its usage says '
         || used || '.' AS what FROM
       (SELECT key, day, tenant, paid,
          (SELECT coalesce(sum(usage.paid), 0) FROM usage
           WHERE usage.day = p.day AND usage.tenant = p.tenant AND usage.key = p.key) AS used
        FROM temp.audit_paid p WHERE (key, day, tenant) > (?1, ?2, ?3) AND (key, day, tenant) <= (?4, ?5, ?6)
          AND day >= (SELECT value FROM ledger_marks WHERE name = 'usage-from-day'))
       WHERE paid <> used`,
    ],
  ],
}

const USAGE: Walk = {
  start: [0, "", "", "", ""],
  next: `SELECT day, tenant, key, model, provider FROM
         (SELECT day, tenant, key, model, provider FROM usage
          WHERE (day, tenant, key, model, provider) > (?1, ?2, ?3, ?4, ?5)
          ORDER BY day, tenant, key, model, provider LIMIT ?6)
         ORDER BY day DESC, tenant DESC, key DESC, model DESC, provider DESC LIMIT 1`,
  problems: [
    [
      "I15",
      `SELECT 'Key ' || key || ' of ' || tenant || ' used ' || model || ' on day ' || day || ', which was never booked.'
         AS what FROM usage
       WHERE (day, tenant, key, model, provider) > (?1, ?2, ?3, ?4, ?5)
         AND (day, tenant, key, model, provider) <= (?6, ?7, ?8, ?9, ?10)
         AND NOT EXISTS (SELECT 1 FROM temp.audit_paid p WHERE p.key = usage.key AND p.day = usage.day
                         AND p.tenant = usage.tenant)`,
    ],
  ],
}

/** Binds since when a hold may be open. */
const ONCE: readonly [string, string][] = [
  [
    "I6",
    `SELECT 'The hold of request ' || request || ' is still open.' AS what FROM holds
     WHERE at < ?1 OR epoch < (SELECT value FROM ledger_marks WHERE name = 'epoch')`,
  ],
  [
    "I6",
    `SELECT 'Request ' || request || ' has ended and is still held.' AS what FROM holds
     WHERE ?1 IS NOT NULL AND EXISTS (SELECT 1 FROM entries WHERE entries.request = holds.request)`,
  ],
  [
    "I14",
    `SELECT 'The trigger ' || name || ', which keeps what is booked as it is, is gone.' AS what FROM
     (SELECT column1 AS name FROM (VALUES ('entries_stay'), ('entries_as_booked'), ('prices_stay'),
        ('prices_as_charged')))
     WHERE ?1 IS NOT NULL AND name NOT IN (SELECT name FROM sqlite_master WHERE type = 'trigger')`,
  ],
]

export function ledgerAudit(database: Database, openSince: number): LedgerAudit {
  database.run(SCRATCH_TABLES)
  const problems: LedgerProblem[] = []
  const look = (checks: readonly [string, string][], bindings: readonly SQLQueryBindings[]) => {
    for (const [invariant, text] of checks) {
      const room = MAX_PROBLEMS - problems.length
      const found = database.query<Found, SQLQueryBindings[]>(`${text} LIMIT ${MAX_PROBLEMS}`).all(...bindings)
      problems.push(...found.slice(0, room).map(({ what }) => ({ invariant, what })))
    }
  }
  const last = database.query<{ id: bigint }, []>("SELECT coalesce(max(id), 0) AS id FROM entries")
  let summed = 0n
  const sum = (limit: number): boolean => {
    const newest = last.get()?.id ?? 0n
    if (summed >= newest) return false
    const [from, to] = [summed + 1n, least(summed + BigInt(limit), newest)]
    look(IN_ENTRIES, [from, to])
    for (const text of SUMS) database.query(text).run(from, to)
    summed = to
    return true
  }
  const walks = [ACCOUNTS, SPEND, SPENT, PAID, USAGE]
  let before: readonly SQLQueryBindings[] | undefined
  const compare = (limit: number): boolean => {
    // What was booked between two steps is in the rows already, so it has to be in the sums.
    while (sum(limit));
    const [walk] = walks
    if (!walk) return false
    if (walk === ACCOUNTS && !before) look(ONCE, [openSince])
    before ??= walk.start
    const row = database.query<Record<string, SQLQueryBindings>, SQLQueryBindings[]>(walk.next).get(...before, limit)
    if (row) look(walk.problems, [...before, ...Object.values(row)])
    else walks.shift()
    before = row ? Object.values(row) : undefined
    return true
  }
  return { sum, compare, problems, close: () => database.run(SCRATCH) }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
