// A process that holds, extends, settles and flushes until it is killed, and logs what was acknowledged as durable:
// spender.ts STORE LOG
import { openSync, writeSync } from "node:fs"
import { Ledger } from "../../src/ledger/ledger.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"

const [storePath = "", logPath = ""] = process.argv.slice(2)
const log = openSync(logPath, "a")
const logLine = (...words: (string | bigint)[]) => void writeSync(log, `${words.join(" ")}\n`)

const table = openSqlite(storePath).ledger
const ledger = new Ledger({ table })
ledger.recover()
logLine("started")

/** In such small steps that most folds and merges are under way when the end comes. */
function upkeep(): void {
  table.beginFlush()
  table.flush(0)
  table.compact(0)
  setImmediate(upkeep)
}
upkeep()

async function spend(spender: number): Promise<never> {
  for (let call = 0; ; call++) {
    const requestId = `${Bun.randomUUIDv7()}-${spender}`
    const chargeNano = BigInt(1 + ((call * 7 + spender) % 150))
    await ledger.hold({ requestId, tenant: "acme", keyId: `k${spender % 4}`, amountNano: 100n, at: Date.now() })
    logLine("held", requestId, 100n)
    if (call % 3 === 0) {
      if (await ledger.extend(requestId, 50n)) logLine("held", requestId, 150n)
      ledger.note(requestId, { lowerBoundNano: 20n })
    }
    if (call % 5 === 0) await Bun.sleep(spender % 3)
    const settled = await ledger.settle(requestId, { chargeNano, model: "m", provider: "p", usage: { input: call } })
    logLine("settled", requestId, settled.paidNano)
  }
}

for (let spender = 0; spender < 16; spender++) void spend(spender)
