// A process that books as a busy gateway does, and is killed under load after a number of entries: store-filler.ts
// STORE ENTRIES. Many concurrent callers come first, whose holds stay in rows that are not overwritten; then few
// callers, each written separately.
import { Ledger } from "../../src/ledger/ledger.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"

const [storePath = "", entries = ""] = process.argv.slice(2)
const wanted = Number(entries)
const CROWD = 2000
const FEW = 8
/** The number of entries booked one by one before the end: about as many as wait to be flushed. */
const LAST_ALONE = Math.min(25_000, wanted / 2)
/** The number of concurrent callers when the end comes. */
const LEFT_OPEN = 500
const KEYS = 200

const ledger = new Ledger({ table: openSqlite(storePath).ledger })
ledger.recover()
let booked = 0

async function hold(caller: number): Promise<string> {
  const requestId = Bun.randomUUIDv7()
  const keyId = `key_${(caller % KEYS).toString(16).padStart(16, "0")}`
  await ledger.hold({ requestId, tenant: `t${caller % 20}`, keyId, amountNano: 1000n, at: Date.now() })
  return requestId
}

async function call(caller: number): Promise<void> {
  const requestId = await hold(caller)
  if (caller % 7 === 0) await Bun.sleep(Math.random() * 20)
  const usage = { input: 5, output: 7 }
  await ledger.settle(requestId, { chargeNano: 500n, model: "m", provider: "p", usage })
  booked += 1
}

async function callUntil(caller: number, most: number): Promise<void> {
  while (booked < most) await call(caller)
}

const callers = (count: number) => Array.from({ length: count }, (_, caller) => caller)
await Promise.all(callers(CROWD).map((caller) => callUntil(caller, wanted - LAST_ALONE)))
await Promise.all(callers(LEFT_OPEN).map(hold))
await Promise.all(callers(FEW).map((caller) => callUntil(caller, wanted)))
process.kill(process.pid, "SIGKILL")
