// The migrations before the first release, as they were: the stores that they made are taken over.

export const earlierMigrations: readonly string[] = [
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
   INSERT INTO ledger_marks VALUES ('epoch', 0), ('folded-entry', 0), ('folded-run', 0), ('usage-from-day', 0);
   CREATE TABLE account_rows (
     id     INTEGER PRIMARY KEY,
     name   TEXT NOT NULL UNIQUE,
     floor  INTEGER,
     posted INTEGER NOT NULL,
     run    INTEGER NOT NULL,
     before INTEGER NOT NULL
   ) STRICT;
   INSERT INTO account_rows VALUES
     (1, 'funding', NULL, 0, 0, 0), (2, 'revenue', NULL, 0, 0, 0), (3, 'suspense', NULL, 0, 0, 0),
     (4, 'write-off', NULL, 0, 0, 0);
   CREATE TABLE hold_groups (
     slot    INTEGER PRIMARY KEY,
     written INTEGER NOT NULL,
     holds   TEXT NOT NULL
   ) STRICT;
   CREATE TABLE journal (
     first     INTEGER PRIMARY KEY,
     amount    INTEGER NOT NULL,
     funding   INTEGER NOT NULL,
     revenue   INTEGER NOT NULL,
     suspense  INTEGER NOT NULL,
     write_off INTEGER NOT NULL,
     entries   TEXT NOT NULL,
     CHECK (amount + funding + revenue + suspense + write_off = 0)
   ) STRICT;
   CREATE TABLE requests (
     request TEXT PRIMARY KEY,
     entry   INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE top_ups (
     event TEXT PRIMARY KEY,
     entry INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE receipt_groups (
     first INTEGER PRIMARY KEY,
     at    INTEGER NOT NULL,
     facts TEXT NOT NULL
   ) STRICT;
   CREATE TABLE sum_runs (
     tree  TEXT NOT NULL,
     part  INTEGER NOT NULL,
     run   INTEGER NOT NULL,
     level INTEGER NOT NULL,
     PRIMARY KEY (tree, part, run)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE spend (
     id    INTEGER PRIMARY KEY,
     part  INTEGER NOT NULL,
     run   INTEGER NOT NULL,
     first TEXT NOT NULL,
     lines TEXT NOT NULL,
     UNIQUE (part, run, first)
   ) STRICT;
   CREATE TABLE usage (
     id    INTEGER PRIMARY KEY,
     part  INTEGER NOT NULL,
     run   INTEGER NOT NULL,
     first TEXT NOT NULL,
     lines TEXT NOT NULL,
     UNIQUE (part, run, first)
   ) STRICT;
   CREATE TABLE prices (
     version TEXT PRIMARY KEY,
     pricing TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TRIGGER journal_stays BEFORE DELETE ON journal
     BEGIN SELECT RAISE(ABORT, 'what is booked stays'); END;
   CREATE TRIGGER journal_as_booked BEFORE UPDATE ON journal
     BEGIN SELECT RAISE(ABORT, 'what is booked stays as it is'); END;
   CREATE TRIGGER requests_stay BEFORE DELETE ON requests
     BEGIN SELECT RAISE(ABORT, 'what has ended stays so'); END;
   CREATE TRIGGER requests_as_booked BEFORE UPDATE ON requests
     BEGIN SELECT RAISE(ABORT, 'what has ended stays as it is'); END;
   CREATE TRIGGER prices_stay BEFORE DELETE ON prices
     BEGIN SELECT RAISE(ABORT, 'a price that was charged stays'); END;
   CREATE TRIGGER prices_as_charged BEFORE UPDATE ON prices
     BEGIN SELECT RAISE(ABORT, 'a price that was charged stays as it is'); END;
   -- For whoever reads the file: what rows hold together, one by one.
   CREATE VIEW ledger_accounts AS
     SELECT id, name, floor,
       CASE WHEN run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run') THEN posted ELSE before END AS posted
     FROM account_rows;
   CREATE VIEW entries AS
     SELECT first + each.key AS id, value ->> 0 AS kind, iif(value ->> 0 = 'top-up', NULL, value ->> 1) AS request,
       iif(value ->> 0 = 'top-up', value ->> 1, NULL) AS event, value ->> 2 AS tenant, value ->> 3 AS key,
       value ->> 4 AS day, value ->> 5 AS at, value ->> 6 AS account,
       CAST(iif(json_type(value, '$[7]') = 'array', value ->> '$[7][0]', -(value ->> 7)) AS INTEGER) AS amount,
       CAST(coalesce(value ->> '$[7][1]', 0) AS INTEGER) AS funding,
       CAST(iif(json_type(value, '$[7]') = 'array', value ->> '$[7][2]', value ->> 7) AS INTEGER) AS revenue,
       CAST(coalesce(value ->> '$[7][3]', 0) AS INTEGER) AS suspense,
       CAST(coalesce(value ->> '$[7][4]', 0) AS INTEGER) AS write_off, value -> 8 AS used
     FROM journal, json_each(entries) AS each;
   CREATE VIEW receipts AS
     SELECT first + each.key AS entry, at, value AS facts
     FROM receipt_groups, json_each('[' || replace(facts, char(10), ',') || ']') AS each WHERE type <> 'null';
   CREATE VIEW holds AS
     SELECT request, value ->> 1 AS account, value ->> 2 AS tenant, value ->> 3 AS key,
       CAST(value ->> 4 AS INTEGER) AS amount, CAST(value ->> 5 AS INTEGER) AS lower_bound, value ->> 6 AS epoch,
       value ->> 7 AS at
     FROM (SELECT value ->> 0 AS request, value,
             row_number() OVER (PARTITION BY value ->> 0 ORDER BY written DESC) AS recency
           FROM hold_groups, json_each(holds))
     WHERE recency = 1 AND request NOT IN (SELECT request FROM requests);`,
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
  `CREATE TABLE responses (
     number INTEGER PRIMARY KEY,
     tenant TEXT NOT NULL,
     id     TEXT NOT NULL,
     at     INTEGER NOT NULL,
     bytes  INTEGER NOT NULL,
     sealed BLOB NOT NULL,
     UNIQUE (tenant, id)
   ) STRICT;
   CREATE INDEX responses_of_tenant ON responses (tenant);
   CREATE TABLE response_sums (
     tenant TEXT PRIMARY KEY,
     count  INTEGER NOT NULL,
     bytes  INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE response_total (
     count INTEGER NOT NULL,
     bytes INTEGER NOT NULL
   ) STRICT;
   INSERT INTO response_total VALUES (0, 0);
   CREATE TRIGGER responses_come AFTER INSERT ON responses BEGIN
     INSERT INTO response_sums VALUES (NEW.tenant, 1, NEW.bytes)
       ON CONFLICT DO UPDATE SET count = count + 1, bytes = bytes + NEW.bytes;
     UPDATE response_total SET count = count + 1, bytes = bytes + NEW.bytes;
   END;
   CREATE TRIGGER responses_go AFTER DELETE ON responses BEGIN
     UPDATE response_sums SET count = count - 1, bytes = bytes - OLD.bytes WHERE tenant = OLD.tenant;
     DELETE FROM response_sums WHERE tenant = OLD.tenant AND count = 0;
     UPDATE response_total SET count = count - 1, bytes = bytes - OLD.bytes;
   END;`,
  "ALTER TABLE keys ADD COLUMN hedge INTEGER NOT NULL DEFAULT 0;",
  `INSERT INTO ledger_marks SELECT 'facts-from-entry',
     coalesce((SELECT min(first) FROM receipt_groups), (SELECT coalesce(max(id), 0) + 1 FROM entries));
   DROP VIEW entries;
   DROP VIEW receipts;
   DROP VIEW holds;
   DROP TRIGGER journal_stays;
   DROP TRIGGER journal_as_booked;
   ALTER TABLE journal RENAME TO journal_before;
   CREATE TABLE journal (
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
   CREATE TABLE ended_requests (
     era      TEXT NOT NULL,
     run      INTEGER NOT NULL,
     least    TEXT NOT NULL,
     greatest TEXT NOT NULL,
     lines    TEXT NOT NULL
   ) STRICT;
   CREATE INDEX ended_requests_of_era ON ended_requests (era, least, greatest, run);
   INSERT INTO ended_requests
     SELECT era, 0, min(request), max(request), group_concat(request || char(9) || entry, char(10) ORDER BY request)
     FROM (SELECT request, entry, substr(request, 1, 8) AS era,
             row_number() OVER (PARTITION BY substr(request, 1, 8) ORDER BY request) / 80 AS block
           FROM requests WHERE entry <= (SELECT value FROM ledger_marks WHERE name = 'folded-entry'))
     GROUP BY era, block;
   DROP TABLE journal_before;
   DROP TABLE receipt_groups;
   DROP TABLE requests;
   CREATE TRIGGER journal_stays BEFORE DELETE ON journal
     BEGIN SELECT RAISE(ABORT, 'what is booked stays'); END;
   CREATE TRIGGER journal_as_booked
     BEFORE UPDATE OF first, at, amount, funding, revenue, suspense, write_off, entries ON journal
     BEGIN SELECT RAISE(ABORT, 'what is booked stays as it is'); END;
   CREATE TRIGGER journal_facts_go BEFORE UPDATE OF facts ON journal WHEN NEW.facts IS NOT NULL
     BEGIN SELECT RAISE(ABORT, 'what a receipt shows stays as it is, or goes'); END;
   CREATE TRIGGER ended_stay BEFORE DELETE ON ended_requests
     WHEN OLD.run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run')
     BEGIN SELECT RAISE(ABORT, 'what has ended stays so'); END;
   CREATE TRIGGER ended_as_booked BEFORE UPDATE ON ended_requests
     BEGIN SELECT RAISE(ABORT, 'what has ended stays as it is'); END;
   CREATE VIEW entries AS
     SELECT first + each.key AS id, what ->> 0 AS kind, iif(what ->> 0 = 'top-up', NULL, value ->> 1) AS request,
       iif(what ->> 0 = 'top-up', value ->> 1, NULL) AS event, what ->> 1 AS tenant, value ->> 2 AS key,
       what ->> 2 AS day, value ->> 3 AS at, what ->> 3 AS account,
       CAST(iif(json_type(value, '$[4]') = 'array', value ->> '$[4][0]', -(value ->> 4)) AS INTEGER) AS amount,
       CAST(coalesce(value ->> '$[4][1]', 0) AS INTEGER) AS funding,
       CAST(iif(json_type(value, '$[4]') = 'array', value ->> '$[4][2]', value ->> 4) AS INTEGER) AS revenue,
       CAST(coalesce(value ->> '$[4][3]', 0) AS INTEGER) AS suspense,
       CAST(coalesce(value ->> '$[4][4]', 0) AS INTEGER) AS write_off,
       CAST(value ->> 5 AS INTEGER) AS held, what ->> 4 AS protocol, what ->> 5 AS model, what ->> 6 AS provider,
       what ->> 7 AS price_version, value -> 6 AS counts
     FROM (SELECT first, each.key, each.value, entries -> 0 -> (each.value ->> 0) AS what
           FROM journal, json_each(entries, '$[1]') AS each) AS each;
   CREATE VIEW receipts AS
     SELECT first + each.key AS entry, journal.at, value AS facts
     FROM journal, json_each(facts) AS each
     WHERE first + each.key >= (SELECT value FROM ledger_marks WHERE name = 'facts-from-entry');
   CREATE VIEW holds AS
     SELECT request, value ->> 1 AS account, value ->> 2 AS tenant, value ->> 3 AS key,
       CAST(value ->> 4 AS INTEGER) AS amount, CAST(value ->> 5 AS INTEGER) AS lower_bound, value ->> 6 AS epoch,
       value ->> 7 AS at
     FROM (SELECT value ->> 0 AS request, value,
             row_number() OVER (PARTITION BY value ->> 0 ORDER BY written DESC) AS recency
           FROM hold_groups, json_each(holds))
     WHERE recency = 1 AND request NOT IN (SELECT request FROM entries WHERE request IS NOT NULL);`,
  `DROP VIEW entries;
   DROP VIEW holds;
   DROP TRIGGER journal_as_booked;
   DROP TRIGGER ended_as_booked;
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
        char(10), '","') || '"]'));
   CREATE TRIGGER journal_as_booked
     BEFORE UPDATE OF first, at, amount, funding, revenue, suspense, write_off, entries ON journal
     BEGIN SELECT RAISE(ABORT, 'what is booked stays as it is'); END;
   CREATE TRIGGER ended_as_booked BEFORE UPDATE ON ended_requests
     BEGIN SELECT RAISE(ABORT, 'what has ended stays as it is'); END;
   CREATE VIEW entries AS
     SELECT first + each.key AS id, what ->> 0 AS kind, iif(what ->> 0 = 'top-up', NULL, cause) AS request,
       iif(what ->> 0 = 'top-up', cause, NULL) AS event, what ->> 1 AS tenant, name AS key, what ->> 2 AS day,
       at - (value ->> 3) AS at, what ->> 3 AS account,
       CAST(iif(json_type(value, '$[4]') = 'array', value ->> '$[4][0]', -(value ->> 4)) AS INTEGER) AS amount,
       CAST(coalesce(value ->> '$[4][1]', 0) AS INTEGER) AS funding,
       CAST(iif(json_type(value, '$[4]') = 'array', value ->> '$[4][2]', value ->> 4) AS INTEGER) AS revenue,
       CAST(coalesce(value ->> '$[4][3]', 0) AS INTEGER) AS suspense,
       CAST(coalesce(value ->> '$[4][4]', 0) AS INTEGER) AS write_off,
       CAST(value ->> 5 AS INTEGER) AS held, what ->> 4 AS protocol, what ->> 5 AS model, what ->> 6 AS provider,
       what ->> 7 AS price_version,
       iif(json_type(value, '$[6]') = 'array', json_patch('{}', json_object(
         'input', value ->> '$[6][0]', 'output', value ->> '$[6][1]', 'cacheRead', value ->> '$[6][2]',
         'reasoning', value ->> '$[6][3]', 'audioInput', value ->> '$[6][4]', 'audioOutput', value ->> '$[6][5]',
         'cacheWrite', value ->> '$[6][6]', 'cacheWrite1h', value ->> '$[6][7]', 'imageInput', value ->> '$[6][8]',
         'imageOutput', value ->> '$[6][9]', 'images', value ->> '$[6][10]')), NULL) AS counts
     FROM (SELECT first, journal.at, each.key, each.value, entries -> 0 -> (each.value ->> 0) AS what,
             (entries ->> 2) || (each.value ->> 1) AS cause, entries -> 1 ->> (each.value ->> 2) AS name
           FROM journal, json_each(entries, '$[3]') AS each) AS each;
   CREATE VIEW holds AS
     SELECT request, who ->> 0 AS account, who ->> 1 AS tenant, who ->> 2 AS key,
       CAST(value ->> 2 AS INTEGER) AS amount, CAST(value ->> 3 AS INTEGER) AS lower_bound, who ->> 3 AS epoch,
       value ->> 4 AS at
     FROM (SELECT value ->> 1 AS request, value, holds -> 0 -> (value ->> 0) AS who,
             row_number() OVER (PARTITION BY value ->> 1 ORDER BY written DESC) AS recency
           FROM hold_groups, json_each(holds, '$[1]'))
     WHERE recency = 1 AND request NOT IN (SELECT request FROM entries WHERE request IS NOT NULL);`,
  `ALTER TABLE account_rows ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE account_rows ADD COLUMN owed_before INTEGER NOT NULL DEFAULT 0;
   INSERT INTO account_rows (id, name, floor, posted, run, before) VALUES (0, 'debt', NULL, 0, 0, 0);
   CREATE TABLE overshoots (
     holder     TEXT NOT NULL,
     period     TEXT NOT NULL,
     first_day  INTEGER NOT NULL,
     limit_nano INTEGER NOT NULL,
     carried    INTEGER NOT NULL,
     over       INTEGER NOT NULL,
     PRIMARY KEY (holder, period)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE suspended (
     request  TEXT PRIMARY KEY,
     entry    INTEGER NOT NULL,
     at       INTEGER NOT NULL,
     ended_by INTEGER
   ) STRICT, WITHOUT ROWID;
   INSERT INTO suspended
     SELECT (entries ->> 2) || (value ->> 1), first + key, journal.at - (value ->> 3), NULL
     FROM journal, json_each(entries, '$[3]')
     WHERE journal.suspense > 0 AND CAST(coalesce(value ->> '$[4][3]', 0) AS INTEGER) > 0;
   CREATE INDEX suspended_open ON suspended (entry) WHERE ended_by IS NULL;
   CREATE TRIGGER suspended_stay BEFORE DELETE ON suspended
     BEGIN SELECT RAISE(ABORT, 'what was put in suspense stays known'); END;
   CREATE TRIGGER suspended_end_once BEFORE UPDATE ON suspended
     WHEN OLD.ended_by IS NOT NULL OR NEW.request <> OLD.request OR NEW.entry <> OLD.entry OR NEW.at <> OLD.at
     BEGIN SELECT RAISE(ABORT, 'what was put in suspense is ended once'); END;
   DROP VIEW ledger_accounts;
   DROP VIEW entries;
   CREATE VIEW ledger_accounts AS
     SELECT id, name, floor, iif(is_folded, posted, before) AS posted, iif(is_folded, owed, owed_before) AS owed
     FROM (SELECT *, run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run') AS is_folded FROM account_rows);
   -- A row's amounts have what is owed with what is written off; here they stand apart.
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
                 FROM journal, json_each(entries, '$[3]') AS each)) AS each;`,
  `ALTER TABLE repeats ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
   ALTER TABLE repeat_answers ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
   ALTER TABLE repeat_answers ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
   UPDATE repeat_answers SET bytes = length(sealed);
   ALTER TABLE repeat_answers DROP COLUMN through;
   CREATE INDEX repeats_of_tenant ON repeats (tenant);
   CREATE INDEX repeat_answers_of_tenant ON repeat_answers (tenant);
   CREATE TABLE repeat_sums (
     tenant TEXT PRIMARY KEY,
     rows   INTEGER NOT NULL,
     bytes  INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE repeat_total (
     rows  INTEGER NOT NULL,
     bytes INTEGER NOT NULL
   ) STRICT;
   -- Whose requests those of the versions before are is not known: they are nobody's, and gone within a day.
   INSERT INTO repeat_sums
     SELECT '', count(*), (SELECT coalesce(sum(bytes), 0) FROM repeat_answers) FROM repeats HAVING count(*) > 0;
   INSERT INTO repeat_total SELECT coalesce(sum(rows), 0), coalesce(sum(bytes), 0) FROM repeat_sums;
   CREATE INDEX repeat_sums_by_rows ON repeat_sums (rows, tenant);
   CREATE INDEX repeat_sums_by_bytes ON repeat_sums (bytes, tenant);
   CREATE INDEX response_sums_by_count ON response_sums (count, tenant);
   CREATE INDEX response_sums_by_bytes ON response_sums (bytes, tenant);
   DROP TRIGGER repeat_answers_go;
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
   END;`,
  `CREATE TABLE chain_marks (
     entry INTEGER PRIMARY KEY,
     chain TEXT NOT NULL
   ) STRICT;
   INSERT INTO chain_marks SELECT value, '0000000000000000' FROM ledger_marks WHERE name = 'folded-entry';
   CREATE TABLE secret_marks (
     mark TEXT PRIMARY KEY
   ) STRICT, WITHOUT ROWID;
   INSERT INTO ledger_marks VALUES ('changes', 0);
   CREATE TRIGGER keys_insert_counts AFTER INSERT ON keys BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER keys_update_counts AFTER UPDATE ON keys BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER keys_delete_counts AFTER DELETE ON keys BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER tenants_insert_counts AFTER INSERT ON tenants BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER tenants_update_counts AFTER UPDATE ON tenants BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER tenants_delete_counts AFTER DELETE ON tenants BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER credentials_insert_counts AFTER INSERT ON credentials BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER credentials_update_counts AFTER UPDATE ON credentials BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;
   CREATE TRIGGER credentials_delete_counts AFTER DELETE ON credentials BEGIN UPDATE ledger_marks SET value = value + 1 WHERE name = 'changes'; END;`,
  `CREATE TABLE response_items (
     tenant TEXT NOT NULL,
     item   TEXT NOT NULL,
     number INTEGER NOT NULL,
     PRIMARY KEY (tenant, item)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX response_items_of ON response_items (number);
   CREATE TRIGGER response_items_go AFTER DELETE ON responses
     BEGIN DELETE FROM response_items WHERE number = OLD.number; END;`,
  "ALTER TABLE keys ADD COLUMN model_map TEXT;",
  "ALTER TABLE credentials ADD COLUMN settings TEXT;",
]
