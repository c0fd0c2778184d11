// The schema of the first release, whole. It is a released migration, so it never changes.

export const initialTables = `
  CREATE TABLE IF NOT EXISTS keys (
    id                  TEXT PRIMARY KEY,
    name                TEXT NOT NULL,
    tenant              TEXT NOT NULL,
    hash                TEXT NOT NULL UNIQUE,
    hint                TEXT NOT NULL,
    models              TEXT,
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER,
    revoked_at          INTEGER,
    previous_hash       TEXT,
    previous_until      INTEGER,
    strict              INTEGER NOT NULL DEFAULT 0,
    addresses           TEXT,
    keep_answers        INTEGER NOT NULL DEFAULT 0,
    own_balance         INTEGER NOT NULL DEFAULT 0,
    protocols           TEXT,
    requests_per_minute INTEGER,
    tokens_per_minute   INTEGER,
    concurrent_requests INTEGER,
    budget_day          INTEGER,
    budget_week         INTEGER,
    budget_month        INTEGER,
    budget_total        INTEGER,
    strict_balance      INTEGER NOT NULL DEFAULT 0,
    hedge               INTEGER NOT NULL DEFAULT 0,
    model_map           TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS tenants (
    name                TEXT PRIMARY KEY,
    created_at          INTEGER NOT NULL,
    models              TEXT,
    strict              INTEGER NOT NULL,
    protocols           TEXT,
    requests_per_minute INTEGER,
    tokens_per_minute   INTEGER,
    concurrent_requests INTEGER,
    budget_day          INTEGER,
    budget_week         INTEGER,
    budget_month        INTEGER,
    budget_total        INTEGER
  ) STRICT;
  CREATE TABLE IF NOT EXISTS credentials (
    provider TEXT PRIMARY KEY,
    address  TEXT NOT NULL,
    sealed   TEXT NOT NULL,
    set_at   INTEGER NOT NULL,
    settings TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS secret_marks (
    mark TEXT PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ledger_marks (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS account_rows (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    floor       INTEGER,
    posted      INTEGER NOT NULL,
    run         INTEGER NOT NULL,
    before      INTEGER NOT NULL,
    owed        INTEGER NOT NULL DEFAULT 0,
    owed_before INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE IF NOT EXISTS hold_groups (
    slot    INTEGER PRIMARY KEY,
    written INTEGER NOT NULL,
    holds   TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS journal (
    first     INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    amount    INTEGER NOT NULL,
    funding   INTEGER NOT NULL,
    revenue   INTEGER NOT NULL,
    suspense  INTEGER NOT NULL,
    write_off INTEGER NOT NULL,
    entries   TEXT NOT NULL,
    facts     TEXT,
    CHECK (amount + funding + revenue + suspense + write_off = 0)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS ended_requests (
    era      TEXT NOT NULL,
    run      INTEGER NOT NULL,
    least    TEXT NOT NULL,
    greatest TEXT NOT NULL,
    lines    TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS top_ups (
    event TEXT PRIMARY KEY,
    entry INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sum_runs (
    tree  TEXT NOT NULL,
    part  INTEGER NOT NULL,
    run   INTEGER NOT NULL,
    level INTEGER NOT NULL,
    PRIMARY KEY (tree, part, run)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS spend (
    id    INTEGER PRIMARY KEY,
    part  INTEGER NOT NULL,
    run   INTEGER NOT NULL,
    first TEXT NOT NULL,
    lines TEXT NOT NULL,
    UNIQUE (part, run, first)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS usage (
    id    INTEGER PRIMARY KEY,
    part  INTEGER NOT NULL,
    run   INTEGER NOT NULL,
    first TEXT NOT NULL,
    lines TEXT NOT NULL,
    UNIQUE (part, run, first)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS prices (
    version TEXT PRIMARY KEY,
    pricing TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS overshoots (
    holder     TEXT NOT NULL,
    period     TEXT NOT NULL,
    first_day  INTEGER NOT NULL,
    limit_nano INTEGER NOT NULL,
    carried    INTEGER NOT NULL,
    over       INTEGER NOT NULL,
    PRIMARY KEY (holder, period)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS suspended (
    request  TEXT PRIMARY KEY,
    entry    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    ended_by INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS chain_marks (
    entry INTEGER PRIMARY KEY,
    chain TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS repeats (
    id      INTEGER PRIMARY KEY,
    hash    TEXT NOT NULL UNIQUE,
    asked   TEXT NOT NULL,
    request TEXT NOT NULL,
    at      INTEGER NOT NULL,
    tenant  TEXT NOT NULL DEFAULT ''
  ) STRICT;
  CREATE TABLE IF NOT EXISTS repeat_answers (
    id           INTEGER PRIMARY KEY,
    status       INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    sealed       BLOB NOT NULL,
    tenant       TEXT NOT NULL DEFAULT '',
    bytes        INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE IF NOT EXISTS repeat_sums (
    tenant TEXT PRIMARY KEY,
    rows   INTEGER NOT NULL,
    bytes  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS repeat_total (
    rows  INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS responses (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id     TEXT NOT NULL,
    at     INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    UNIQUE (tenant, id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS response_items (
    tenant TEXT NOT NULL,
    item   TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (tenant, item)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS response_sums (
    tenant TEXT PRIMARY KEY,
    count  INTEGER NOT NULL,
    bytes  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS response_total (
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT;`

export const initialIndexes = `
  CREATE UNIQUE INDEX IF NOT EXISTS keys_previous_hash ON keys (previous_hash) WHERE previous_hash IS NOT NULL;
  CREATE INDEX IF NOT EXISTS responses_of_tenant ON responses (tenant);
  CREATE INDEX IF NOT EXISTS ended_requests_of_era ON ended_requests (era, least, greatest, run);
  CREATE INDEX IF NOT EXISTS suspended_open ON suspended (entry) WHERE ended_by IS NULL;
  CREATE INDEX IF NOT EXISTS repeats_of_tenant ON repeats (tenant);
  CREATE INDEX IF NOT EXISTS repeat_answers_of_tenant ON repeat_answers (tenant);
  CREATE INDEX IF NOT EXISTS repeat_sums_by_rows ON repeat_sums (rows, tenant);
  CREATE INDEX IF NOT EXISTS repeat_sums_by_bytes ON repeat_sums (bytes, tenant);
  CREATE INDEX IF NOT EXISTS response_sums_by_count ON response_sums (count, tenant);
  CREATE INDEX IF NOT EXISTS response_sums_by_bytes ON response_sums (bytes, tenant);
  CREATE INDEX IF NOT EXISTS response_items_of ON response_items (number);`

/** Rows that the code relies on. */
export const initialRows = `
  INSERT OR IGNORE INTO ledger_marks VALUES ('epoch', 0), ('folded-entry', 0), ('folded-run', 0), ('usage-from-day', 0),
    ('facts-from-entry', 1), ('changes', 0);
  INSERT OR IGNORE INTO account_rows (id, name, floor, posted, run, before) VALUES (0, 'debt', NULL, 0, 0, 0),
    (1, 'funding', NULL, 0, 0, 0), (2, 'revenue', NULL, 0, 0, 0), (3, 'suspense', NULL, 0, 0, 0),
    (4, 'write-off', NULL, 0, 0, 0);
  INSERT INTO chain_marks SELECT value, '0000000000000000' FROM ledger_marks
    WHERE name = 'folded-entry' AND NOT EXISTS (SELECT 1 FROM chain_marks);
  INSERT INTO repeat_total SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM repeat_total);
  INSERT INTO response_total SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM response_total);`

/** The marker of the store counts changes of these tables. */
const countingTriggers = ["keys", "tenants", "credentials"].flatMap((table) =>
  ["insert", "update", "delete"].map(
    (change) => `
  CREATE TRIGGER ${table}_${change}_counts AFTER ${change.toUpperCase()} ON ${table}
    BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;`,
  ),
)

export const initialTriggers = `${countingTriggers.join("")}
  CREATE TRIGGER prices_stay BEFORE DELETE ON prices
    BEGIN SELECT RAISE(ABORT, 'a price that was charged stays'); END;
  CREATE TRIGGER prices_as_charged BEFORE UPDATE ON prices
    BEGIN SELECT RAISE(ABORT, 'a price that was charged stays as it is'); END;
  CREATE TRIGGER responses_come AFTER INSERT ON responses BEGIN
    INSERT INTO response_sums VALUES (NEW.tenant, 1, NEW.bytes)
      ON CONFLICT DO UPDATE SET count = count + 1, bytes = bytes + NEW.bytes;
    UPDATE response_total SET count = count + 1, bytes = bytes + NEW.bytes;
  END;
  CREATE TRIGGER responses_go AFTER DELETE ON responses BEGIN
    UPDATE response_sums SET count = count - 1, bytes = bytes - OLD.bytes WHERE tenant = OLD.tenant;
    DELETE FROM response_sums WHERE tenant = OLD.tenant AND count = 0;
    UPDATE response_total SET count = count - 1, bytes = bytes - OLD.bytes;
  END;
  CREATE TRIGGER journal_stays BEFORE DELETE ON journal
    BEGIN SELECT RAISE(ABORT, 'what is booked stays'); END;
  CREATE TRIGGER journal_facts_go BEFORE UPDATE OF facts ON journal WHEN NEW.facts IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'what a receipt shows stays as it is, or goes'); END;
  CREATE TRIGGER ended_stay BEFORE DELETE ON ended_requests
    WHEN OLD.run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run')
    BEGIN SELECT RAISE(ABORT, 'what has ended stays so'); END;
  CREATE TRIGGER journal_as_booked
    BEFORE UPDATE OF first, at, amount, funding, revenue, suspense, write_off, entries ON journal
    BEGIN SELECT RAISE(ABORT, 'what is booked stays as it is'); END;
  CREATE TRIGGER ended_as_booked BEFORE UPDATE ON ended_requests
    BEGIN SELECT RAISE(ABORT, 'what has ended stays as it is'); END;
  CREATE TRIGGER suspended_stay BEFORE DELETE ON suspended
    BEGIN SELECT RAISE(ABORT, 'what was put in suspense stays known'); END;
  CREATE TRIGGER suspended_end_once BEFORE UPDATE ON suspended
    WHEN OLD.ended_by IS NOT NULL OR NEW.request <> OLD.request OR NEW.entry <> OLD.entry OR NEW.at <> OLD.at
    BEGIN SELECT RAISE(ABORT, 'what was put in suspense is ended once'); END;
  CREATE TRIGGER repeats_come AFTER INSERT ON repeats BEGIN
    INSERT INTO repeat_sums VALUES (NEW.tenant, 1, 0) ON CONFLICT DO UPDATE SET rows = rows + 1;
    UPDATE repeat_total SET rows = rows + 1;
  END;
  CREATE TRIGGER repeats_go AFTER DELETE ON repeats BEGIN
    DELETE FROM repeat_answers WHERE id = OLD.id;
    UPDATE repeat_sums SET rows = rows - 1 WHERE tenant = OLD.tenant;
    DELETE FROM repeat_sums WHERE tenant = OLD.tenant AND rows = 0;
    UPDATE repeat_total SET rows = rows - 1;
  END;
  CREATE TRIGGER repeat_answers_come AFTER INSERT ON repeat_answers BEGIN
    UPDATE repeat_sums SET bytes = bytes + NEW.bytes WHERE tenant = NEW.tenant;
    UPDATE repeat_total SET bytes = bytes + NEW.bytes;
  END;
  CREATE TRIGGER repeat_answers_go AFTER DELETE ON repeat_answers BEGIN
    UPDATE repeat_sums SET bytes = bytes - OLD.bytes WHERE tenant = OLD.tenant;
    UPDATE repeat_total SET bytes = bytes - OLD.bytes;
  END;
  CREATE TRIGGER response_items_go AFTER DELETE ON responses
    BEGIN DELETE FROM response_items WHERE number = OLD.number; END;`

/** For readers of the file: a row for each entry, receipt and hold of the rows that hold several. */
export const initialViews = `
  CREATE VIEW receipts AS
    SELECT first + each.key AS entry, journal.at, value AS facts
    FROM journal, json_each(facts) AS each
    WHERE first + each.key >= (SELECT value FROM ledger_marks WHERE name = 'facts-from-entry');
  CREATE VIEW holds AS
    SELECT request, who ->> 0 AS account, who ->> 1 AS tenant, who ->> 2 AS key,
      CAST(value ->> 2 AS INTEGER) AS amount, CAST(value ->> 3 AS INTEGER) AS lower_bound, who ->> 3 AS epoch,
      value ->> 4 AS at
    FROM (SELECT value ->> 1 AS request, value, holds -> 0 -> (value ->> 0) AS who,
            row_number() OVER (PARTITION BY value ->> 1 ORDER BY written DESC) AS recency
          FROM hold_groups, json_each(holds, '$[1]'))
    WHERE recency = 1 AND request NOT IN (SELECT request FROM entries WHERE request IS NOT NULL);
  CREATE VIEW ledger_accounts AS
    SELECT id, name, floor, iif(is_folded, posted, before) AS posted, iif(is_folded, owed, owed_before) AS owed
    FROM (SELECT *, run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run') AS is_folded FROM account_rows);
  -- A row's amounts have debt together with write-offs; here they are separate.
  CREATE VIEW entries AS
    SELECT first + each.key AS id, what ->> 0 AS kind, iif(is_of_event, NULL, cause) AS request,
      iif(is_of_event, cause, NULL) AS event, what ->> 1 AS tenant, name AS key, what ->> 2 AS day,
      at - (value ->> 3) AS at, what ->> 3 AS account,
      CAST(iif(json_type(value, '$[4]') = 'array', value ->> '$[4][0]', -(value ->> 4)) AS INTEGER) AS amount,
      CAST(coalesce(value ->> '$[4][1]', 0) AS INTEGER) AS funding,
      CAST(iif(json_type(value, '$[4]') = 'array', value ->> '$[4][2]', value ->> 4) AS INTEGER) AS revenue,
      CAST(coalesce(value ->> '$[4][3]', 0) AS INTEGER) AS suspense,
      CAST(coalesce(value ->> '$[4][4]', 0) AS INTEGER) AS write_off,
      CAST(coalesce(value ->> '$[4][5]', 0) AS INTEGER) AS debt,
      CAST(value ->> 5 AS INTEGER) AS held, what ->> 4 AS protocol, what ->> 5 AS model, what ->> 6 AS provider,
      what ->> 7 AS price_version,
      iif(json_type(value, '$[6]') = 'array', json_patch('{}', json_object(
        'input', value ->> '$[6][0]', 'output', value ->> '$[6][1]', 'cacheRead', value ->> '$[6][2]',
        'reasoning', value ->> '$[6][3]', 'audioInput', value ->> '$[6][4]', 'audioOutput', value ->> '$[6][5]',
        'cacheWrite', value ->> '$[6][6]', 'cacheWrite1h', value ->> '$[6][7]', 'imageInput', value ->> '$[6][8]',
        'imageOutput', value ->> '$[6][9]', 'images', value ->> '$[6][10]')), NULL) AS counts
    FROM (SELECT *, what ->> 0 IN ('top-up', 'suspense-returned', 'suspense-settled') AS is_of_event
          FROM (SELECT first, journal.at, each.key, each.value, entries -> 0 -> (each.value ->> 0) AS what,
                  (entries ->> 2) || (each.value ->> 1) AS cause, entries -> 1 ->> (each.value ->> 2) AS name
                FROM journal, json_each(entries, '$[3]') AS each)) AS each;`
