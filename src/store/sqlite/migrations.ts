// The schema, as the steps that made it. A step that was released never changes; what is new is appended.

export const migrations: readonly string[] = [
  `CREATE TABLE keys (
     id             TEXT PRIMARY KEY,
     name           TEXT NOT NULL,
     tenant         TEXT NOT NULL,
     hash           TEXT NOT NULL UNIQUE,
     hint           TEXT NOT NULL,
     models         TEXT,
     created_at     INTEGER NOT NULL,
     expires_at     INTEGER,
     revoked_at     INTEGER,
     previous_hash  TEXT,
     previous_until INTEGER
   ) STRICT;
   CREATE UNIQUE INDEX keys_previous_hash ON keys (previous_hash) WHERE previous_hash IS NOT NULL;`,
  `CREATE TABLE credentials (
     provider TEXT PRIMARY KEY,
     address  TEXT NOT NULL,
     sealed   TEXT NOT NULL,
     set_at   INTEGER NOT NULL
   ) STRICT;`,
  "ALTER TABLE keys ADD COLUMN strict INTEGER NOT NULL DEFAULT 0;",
  `ALTER TABLE keys ADD COLUMN addresses TEXT;
   ALTER TABLE keys ADD COLUMN keep_answers INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE keys ADD COLUMN own_balance INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE keys ADD COLUMN protocols TEXT;
   ALTER TABLE keys ADD COLUMN requests_per_minute INTEGER;
   ALTER TABLE keys ADD COLUMN tokens_per_minute INTEGER;
   ALTER TABLE keys ADD COLUMN concurrent_requests INTEGER;
   ALTER TABLE keys ADD COLUMN budget_day INTEGER;
   ALTER TABLE keys ADD COLUMN budget_week INTEGER;
   ALTER TABLE keys ADD COLUMN budget_month INTEGER;
   ALTER TABLE keys ADD COLUMN budget_total INTEGER;
   CREATE TABLE tenants (
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
   ) STRICT;`,
  `CREATE TABLE ledger_marks (
     name  TEXT PRIMARY KEY,
     value INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   INSERT INTO ledger_marks VALUES ('epoch', 0), ('usage-from-day', 0);
   CREATE TABLE ledger_accounts (
     id     INTEGER PRIMARY KEY,
     name   TEXT NOT NULL UNIQUE,
     posted INTEGER NOT NULL,
     held   INTEGER NOT NULL CHECK (held >= 0),
     floor  INTEGER,
     CHECK (floor IS NULL OR posted - held >= floor)
   ) STRICT;
   INSERT INTO ledger_accounts VALUES
     (1, 'funding', 0, 0, NULL), (2, 'revenue', 0, 0, NULL), (3, 'suspense', 0, 0, NULL), (4, 'write-off', 0, 0, NULL);
   CREATE TABLE holds (
     request     TEXT PRIMARY KEY,
     account     INTEGER NOT NULL,
     tenant      TEXT NOT NULL,
     key         TEXT NOT NULL,
     amount      INTEGER NOT NULL CHECK (amount >= 0),
     lower_bound INTEGER NOT NULL CHECK (lower_bound >= 0),
     day         INTEGER NOT NULL,
     epoch       INTEGER NOT NULL,
     at          INTEGER NOT NULL,
     budgets     TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE entries (
     id        INTEGER PRIMARY KEY,
     kind      TEXT NOT NULL CHECK (kind = 'settled' OR kind = 'released' OR kind = 'recovered' OR kind = 'top-up'),
     request   TEXT,
     event     TEXT,
     tenant    TEXT,
     key       TEXT,
     day       INTEGER NOT NULL,
     at        INTEGER NOT NULL,
     account   INTEGER NOT NULL,
     amount    INTEGER NOT NULL,
     funding   INTEGER NOT NULL,
     revenue   INTEGER NOT NULL,
     suspense  INTEGER NOT NULL,
     write_off INTEGER NOT NULL,
     CHECK ((request IS NULL) <> (event IS NULL)),
     CHECK (amount + funding + revenue + suspense + write_off = 0)
   ) STRICT;
   CREATE UNIQUE INDEX entries_request ON entries (request) WHERE request IS NOT NULL;
   CREATE UNIQUE INDEX entries_event ON entries (event) WHERE event IS NOT NULL;
   CREATE TABLE spend (
     holder TEXT NOT NULL,
     day    INTEGER NOT NULL,
     spent  INTEGER NOT NULL,
     held   INTEGER NOT NULL CHECK (held >= 0),
     PRIMARY KEY (holder, day)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE usage (
     day            INTEGER NOT NULL,
     tenant         TEXT NOT NULL,
     key            TEXT NOT NULL,
     model          TEXT NOT NULL,
     provider       TEXT NOT NULL,
     requests       INTEGER NOT NULL,
     input          INTEGER NOT NULL,
     cache_read     INTEGER NOT NULL,
     cache_write    INTEGER NOT NULL,
     cache_write_1h INTEGER NOT NULL,
     audio_input    INTEGER NOT NULL,
     image_input    INTEGER NOT NULL,
     output         INTEGER NOT NULL,
     reasoning      INTEGER NOT NULL,
     audio_output   INTEGER NOT NULL,
     image_output   INTEGER NOT NULL,
     images         INTEGER NOT NULL,
     paid           INTEGER NOT NULL,
     PRIMARY KEY (day, tenant, key, model, provider)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE receipts (
     entry INTEGER PRIMARY KEY,
     at    INTEGER NOT NULL,
     facts TEXT NOT NULL
   ) STRICT;
   CREATE TABLE prices (
     version TEXT PRIMARY KEY,
     pricing TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TRIGGER entries_stay BEFORE DELETE ON entries
     BEGIN SELECT RAISE(ABORT, 'what is booked stays'); END;
   CREATE TRIGGER entries_as_booked BEFORE UPDATE ON entries
     BEGIN SELECT RAISE(ABORT, 'what is booked stays as it is'); END;
   CREATE TRIGGER prices_stay BEFORE DELETE ON prices
     BEGIN SELECT RAISE(ABORT, 'a price that was charged stays'); END;
   CREATE TRIGGER prices_as_charged BEFORE UPDATE ON prices
     BEGIN SELECT RAISE(ABORT, 'a price that was charged stays as it is'); END;`,
  `CREATE TABLE repeats (
     id      INTEGER PRIMARY KEY,
     hash    TEXT NOT NULL UNIQUE,
     asked   TEXT NOT NULL,
     request TEXT NOT NULL,
     at      INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE repeat_answers (
     id           INTEGER PRIMARY KEY,
     status       INTEGER NOT NULL,
     content_type TEXT NOT NULL,
     through      INTEGER NOT NULL,
     sealed       BLOB NOT NULL
   ) STRICT;
   CREATE TRIGGER repeat_answers_go AFTER DELETE ON repeats
     BEGIN DELETE FROM repeat_answers WHERE id = OLD.id; END;`,
  "ALTER TABLE keys ADD COLUMN strict_balance INTEGER NOT NULL DEFAULT 0;",
]
