// A process that opens a store as a gateway's start does, prints the duration as JSON, and ends without closing it:
// store-opener.ts STORE
import { Ledger } from "../../src/ledger/ledger.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"

/** The number of text searches. */
let searches = 0
const { indexOf } = String.prototype
String.prototype.indexOf = function (this: string, ...given: Parameters<typeof indexOf>) {
  searches += 1
  return indexOf.apply(this, given)
}

const startedAt = performance.now()
const store = openSqlite(process.argv[2] ?? "")
const { holds } = new Ledger({ table: store.ledger }).recover()
const tookMs = performance.now() - startedAt
console.log(JSON.stringify({ tookMs, holds, searches }))
process.kill(process.pid, "SIGKILL")
