// The ledger as plain tables: one row per entry, and totals that every entry updates. What the ledger engine is compared
// with, so it has the same constraints.
import { Database } from "bun:sqlite"

const SCHEMA = `
  CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO marks VALUES ('epoch', 0), ('probes', 0);
  CREATE TABLE accounts (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    floor  INTEGER,
    posted INTEGER NOT NULL DEFAULT 0,
    held   INTEGER NOT NULL DEFAULT 0,
    owed   INTEGER NOT NULL DEFAULT 0,
    CHECK (floor IS NULL OR posted - held >= floor)
  ) STRICT;
  INSERT INTO accounts (id, name) VALUES (0, 'debt'), (1, 'funding'), (2, 'revenue'), (3, 'suspense'), (4, 'write-off');
  CREATE TABLE holds (
    request     TEXT PRIMARY KEY,
    account     INTEGER NOT NULL,
    tenant      TEXT NOT NULL,
    key         TEXT NOT NULL,
    amount      INTEGER NOT NULL,
    lower_bound INTEGER NOT NULL,
    day         INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    at          INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE entries (
    id            INTEGER PRIMARY KEY,
    kind          TEXT NOT NULL,
    request       TEXT UNIQUE,
    event         TEXT UNIQUE,
    tenant        TEXT,
    key           TEXT,
    day           INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    account       INTEGER NOT NULL,
    amount        INTEGER NOT NULL,
    funding       INTEGER NOT NULL,
    revenue       INTEGER NOT NULL,
    suspense      INTEGER NOT NULL,
    write_off     INTEGER NOT NULL,
    debt          INTEGER NOT NULL,
    held          INTEGER,
    protocol      TEXT,
    model         TEXT,
    provider      TEXT,
    price_version TEXT,
    counts        TEXT,
    facts         TEXT,
    CHECK (amount + funding + revenue + suspense + write_off + debt = 0)
  ) STRICT;
  CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
  CREATE TRIGGER entries_as_booked BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries never change'); END;
  CREATE TABLE spend (
    holder TEXT NOT NULL,
    day    INTEGER NOT NULL,
    nano   INTEGER NOT NULL,
    PRIMARY KEY (holder, day)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage (
    day      INTEGER NOT NULL,
    tenant   TEXT NOT NULL,
    key      TEXT NOT NULL,
    model    TEXT NOT NULL,
    provider TEXT NOT NULL,
    input    INTEGER NOT NULL,
    cached   INTEGER NOT NULL,
    output   INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    paid     INTEGER NOT NULL,
    PRIMARY KEY (day, tenant, key, model, provider)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE prices (version TEXT PRIMARY KEY, pricing TEXT NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA user_version = 1;`

/** With the pragmas of the gateway's store. */
export function openPlainDatabase(path: string): Database {
  const database = new Database(path, { create: true, readwrite: true, safeIntegers: true })
  database.run("PRAGMA locking_mode = EXCLUSIVE")
  database.run("PRAGMA busy_timeout = 500")
  database.run("PRAGMA journal_mode = WAL")
  database.run("PRAGMA synchronous = NORMAL")
  const version = database.query<{ user_version: bigint }, []>("PRAGMA user_version").get()?.user_version
  if (version === 0n) database.transaction(() => database.run(SCHEMA))()
  return database
}
