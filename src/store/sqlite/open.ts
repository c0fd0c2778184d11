// Opens the embedded store: one file, one process, migrated to the newest schema.
import { Database } from "bun:sqlite"
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { type Store, StoreError } from "../contract.ts"
import { credentialTable } from "./credentials.ts"
import { keyTable } from "./keys.ts"
import { ledgerTable } from "./ledger.ts"
import { migrations } from "./migrations.ts"
import { repeatTable } from "./repeats.ts"
import { responseTable } from "./responses.ts"
import { tenantTable } from "./tenants.ts"

export function openSqlite(path: string): Store {
  mkdirSync(dirname(path), { recursive: true })
  const database = openLocked(path)
  try {
    migrate(database, path)
    return {
      keys: keyTable(database),
      tenants: tenantTable(database),
      credentials: credentialTable(database),
      ledger: ledgerTable(database),
      repeats: repeatTable(database),
      responses: responseTable(database),
      close: () => database.close(),
    }
  } catch (thrown) {
    database.close()
    throw thrown
  }
}

/** Holds the file's lock until closed or until the process ends, however it ends. */
function openLocked(path: string): Database {
  // Without safeIntegers, integers beyond 2^53 come back wrong.
  const database = new Database(path, { create: true, readwrite: true, safeIntegers: true })
  try {
    database.run("PRAGMA locking_mode = EXCLUSIVE")
    database.run("PRAGMA busy_timeout = 500")
    database.run("PRAGMA journal_mode = WAL")
    database.run("PRAGMA synchronous = NORMAL")
    database.run("BEGIN IMMEDIATE")
    database.run("COMMIT")
    return database
  } catch (thrown) {
    database.close()
    const busy = thrown instanceof Error && "code" in thrown && String(thrown.code).startsWith("SQLITE_BUSY")
    if (!busy) throw new StoreError(`Cannot open the store ${path}: ${String(thrown)}`, { cause: thrown })
    throw new StoreError(
      `The store ${path} is in use by another process, most likely a running gateway. Stop it first.`,
    )
  }
}

function migrate(database: Database, path: string): void {
  const found = Number(database.query<{ user_version: bigint }, []>("PRAGMA user_version").get()?.user_version ?? 0)
  if (found > migrations.length) {
    throw new StoreError(`The store ${path} was written by a newer Trivium (schema ${found}). Run that version.`)
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < found) continue
    database.transaction(() => {
      database.run(migration)
      database.run(`PRAGMA user_version = ${index + 1}`)
    })()
  }
}
