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
]
