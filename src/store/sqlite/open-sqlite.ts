// Opens the embedded store: one file, one process, migrated to the newest schema, and not behind its marker.
import { Database } from "bun:sqlite"
import { mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { type Store, StoreError } from "../contract.ts"
import { credentialTable } from "./credential-table.ts"
import { idempotencyTable } from "./idempotency-table.ts"
import { keyTable } from "./key-table.ts"
import { ChainMarks, chainText } from "./ledger/journal-chain.ts"
import { ledgerTable } from "./ledger/ledger-table.ts"
import { INITIAL_VERSION, migrations } from "./migrations.ts"
import { responseTable } from "./response-table.ts"
import { secretMarks } from "./secret-marks.ts"
import { describeLoss, describeMissingDatabase, refuseLoss } from "./store-loss.ts"
import { readMarker, StoreMarker, type StorePosition } from "./store-marker.ts"
import { takeOverStore } from "./take-over-store.ts"
import { tenantTable } from "./tenant-table.ts"

interface OpenSqliteOptions {
  /** Called with the data that the store has lost. If it returns, the store is opened nevertheless. */
  readonly onLoss?: ((what: string) => void) | undefined
}

/** For tests: lost when the process ends. */
const IN_MEMORY = ":memory:"

export function openSqlite(path: string, { onLoss = refuseLoss }: OpenSqliteOptions = {}): Store {
  const isInMemory = path === IN_MEMORY
  if (!isInMemory) makeFolder(dirname(path))
  const known = isInMemory ? undefined : readMarker(path)
  const lost = known && isMissing(path) ? describeMissingDatabase({ path, known }) : undefined
  if (lost !== undefined) onLoss(lost)
  const database = openLocked(path)
  try {
    migrate(database, path)
    let marker: StoreMarker | undefined
    const { tables, position } = openTables(database, () => marker?.note())
    if (isInMemory) return { ...tables, sync: () => Promise.resolve(), close: () => database.close() }
    const chains = new ChainMarks(database)
    const less = known && lost === undefined ? describeLoss({ path, known, position: position(), chains }) : undefined
    if (less !== undefined) onLoss(less)
    marker = new StoreMarker({ path, position })
    if (known === undefined || lost !== undefined || less !== undefined) marker.begin()
    return { ...tables, ...createSyncAndClose(database, { marker, position }) }
  } catch (thrown) {
    database.close()
    throw thrown
  }
}

function isMissing(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/** Calls `onWritten` with the state that the marker records. */
function openTables(database: Database, onWritten: () => void) {
  const ledger = ledgerTable(database, { onBooked: onWritten })
  const tables: Omit<Store, "sync" | "close"> = {
    keys: notifyOnWrite(keyTable(database), onWritten),
    tenants: notifyOnWrite(tenantTable(database), onWritten),
    credentials: notifyOnWrite(credentialTable(database), onWritten),
    ledger,
    idempotency: idempotencyTable(database),
    responses: responseTable(database),
    secrets: secretMarks(database),
  }
  const changes = database.query<{ value: bigint }, []>("SELECT value FROM ledger_marks WHERE name = 'changes'")
  const position = (): StorePosition => {
    const { entry, chain } = ledger.link()
    return { entry, chain: chainText(chain), changes: Number(changes.get()?.value) }
  }
  return { tables, position }
}

const WRITE_METHODS = ["insert", "replace", "put", "remove"]

/** The same table, with a call of `onWritten` after each change. */
function notifyOnWrite<Table extends object>(table: Table, onWritten: () => void): Table {
  const functions = Object.entries(table).map(([name, act]) => {
    if (!WRITE_METHODS.includes(name)) return [name, act]
    const noted = (...given: unknown[]) => {
      const result = act(...given)
      onWritten()
      return result
    }
    return [name, noted]
  })
  return Object.fromEntries(functions) as Table
}

interface StoreClosing {
  readonly marker: StoreMarker
  readonly position: () => StorePosition
}

function createSyncAndClose(database: Database, { marker, position }: StoreClosing): Pick<Store, "sync" | "close"> {
  return {
    sync: () =>
      marker.sync().catch((cause) => {
        throw new StoreError(`The store cannot be synced to disk: ${String(cause)}`, { cause })
      }),
    close: () => {
      const last = readLastPosition(position)
      database.close()
      marker.close(last)
    },
  }
}

/** Undefined if the store fails; its marker then stays behind, which is never wrong. */
function readLastPosition(position: () => StorePosition): StorePosition | undefined {
  try {
    return position()
  } catch {
    return undefined
  }
}

/** Holds the file's lock until closed or until the process ends in any way. */
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
  if (found >= INITIAL_VERSION + migrations.length) {
    throw new StoreError(`The store ${path} was written by a newer Trivium (schema ${found}). Run that version.`)
  }
  let version = found
  if (found > 0 && found < INITIAL_VERSION) {
    version = INITIAL_VERSION
    changeSchema(database, { version, change: () => takeOverStore(database, found) })
  }
  for (const [index, migration] of migrations.entries()) {
    const next = INITIAL_VERSION + index
    if (next > version) changeSchema(database, { version: next, change: () => void database.run(migration) })
  }
}

function changeSchema(database: Database, { version, change }: { readonly version: number; change(): void }): void {
  database.transaction(() => {
    change()
    database.run(`PRAGMA user_version = ${version}`)
  })()
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown error"
    const why = FOLDER_FAULTS[code] ?? `it cannot be made (${code})`
    throw new Error(`The data folder ${folder} cannot be used: ${why}. Name another with --data or TRIVIUM_DATA.`, {
      cause,
    })
  }
}

const FOLDER_FAULTS: Readonly<Record<string, string>> = {
  EEXIST: "it is a file, and a folder is needed",
  ENOTDIR: "a part of its path is a file",
  EACCES: "this user may not write there",
  EROFS: "it is on a read-only file system",
}
