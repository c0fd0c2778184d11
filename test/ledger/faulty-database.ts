// A database that fails on demand: at its n-th statement, including BEGIN and COMMIT, once or until reset, before the
// statement is executed or after it.
import { Database } from "bun:sqlite"
import type { LedgerTable } from "../../src/store/contract.ts"
import { ledgerTable } from "../../src/store/sqlite/ledger/ledger-table.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"

class StatementFaults {
  /** Statements since the failure was last set. */
  happened = false
  statements = 0
  private at: number | undefined
  private how: FailureOptions = {}

  /** At the n-th statement from now, the first being 0; undefined is none. */
  failAt(statement: number | undefined, how: FailureOptions = {}): void {
    this.happened = false
    this.statements = 0
    this.at = statement
    this.how = how
  }

  /** One statement more. */
  through<Result>(act: () => Result): Result {
    const number = this.statements++
    const { lasts = false, isDone = false } = this.how
    const fails = this.at !== undefined && (number === this.at || (number > this.at && lasts))
    if (!fails) return act()
    this.happened = true
    if (isDone) act()
    throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" })
  }
}

interface FailureOptions {
  /** All that follow fail too. */
  readonly lasts?: boolean
  /** It is done all the same. */
  readonly isDone?: boolean
}

export interface FaultyStore {
  readonly table: LedgerTable
  readonly faults: StatementFaults
  close(): void
}

export function openFaulty(path: string): FaultyStore {
  openSqlite(path).close()
  const database = new Database(path, { readwrite: true, safeIntegers: true })
  const faults = new StatementFaults()
  const table = ledgerTable(faulty(database, faults))
  return { table, faults, close: () => database.close() }
}

type SqlStatement = ReturnType<Database["query"]>

function faulty(database: Database, faults: StatementFaults): Database {
  const counted =
    <Given extends unknown[], Result>(act: (...given: Given) => Result) =>
    (...given: Given): Result =>
      faults.through(() => act(...given))
  const wrapped = (statement: SqlStatement) => ({
    run: counted(statement.run.bind(statement)),
    get: counted(statement.get.bind(statement)),
    all: counted(statement.all.bind(statement)),
  })
  const seen = {
    query: (text: string) => wrapped(database.query(text)),
    run: counted(database.run.bind(database)),
    transaction: database.transaction.bind(database),
    get inTransaction() {
      return database.inTransaction
    },
  }
  return seen as unknown as Database
}
