// kill -9 at any moment: every entry acknowledged as durable is in the ledger, and every open hold is recovered once.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Ledger } from "../../src/ledger/ledger.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"

const CYCLES = 6
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-kill-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Lets a spender run for a while after its start, then kills it. */
async function spendAndDie({ store, log, runsMs }: { store: string; log: string; runsMs: number }): Promise<void> {
  const script = new URL("./spender.ts", import.meta.url).pathname
  const child = Bun.spawn([process.execPath, script, store, log], { stdout: "inherit", stderr: "inherit" })
  const lines = () => logged(log).filter(([word]) => word === "started").length
  const before = lines()
  for (let waited = 0; lines() === before && waited < 10_000; waited += 5) await Bun.sleep(5)
  await Bun.sleep(runsMs)
  child.kill("SIGKILL")
  await child.exited
  expect(child.signalCode).toBe("SIGKILL")
}

/** Whole lines only: the last may have been cut. */
function logged(log: string): string[][] {
  try {
    return readFileSync(log, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split(" "))
  } catch {
    return []
  }
}

test("a kill loses no durable entry and charges none twice", async () => {
  const [path, log] = [join(folder, "trivium.db"), join(folder, "log")]
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    await spendAndDie({ store: path, log, runsMs: 20 + 37 * cycle })
    const store = openSqlite(path)
    const ledger = new Ledger({ table: store.ledger })
    if (cycle % 2 === 0) {
      ledger.recover()
      expect(ledger.recover().holds).toBe(0)
      expect(await ledger.verify()).toEqual([])
    }
    store.close()
  }
  const store = openSqlite(path)
  const ledger = new Ledger({ table: store.ledger })
  ledger.recover()
  expect(await ledger.verify()).toEqual([])
  const acknowledged = logged(log)
  const held = new Map(
    acknowledged.flatMap(([word, id = "", nano = ""]) => (word === "held" ? [[id, BigInt(nano)]] : [])),
  )
  const settled = new Map(
    acknowledged.flatMap(([word, id = "", nano = ""]) => (word === "settled" ? [[id, BigInt(nano)]] : [])),
  )
  expect(settled.size).toBeGreaterThan(CYCLES * 16)
  let recovered = 0
  for (const [requestId, amountNano] of held) {
    const receipt = ledger.receipt(requestId, "acme")
    const paidNano = settled.get(requestId)
    if (paidNano !== undefined) expect(receipt).toMatchObject({ outcome: "settled", paidNano })
    else if (receipt?.outcome === "recovered") {
      recovered += 1
      expect(receipt.paidNano >= amountNano).toBe(true)
    } else expect(receipt?.outcome).toBe("settled")
  }
  expect(recovered).toBeGreaterThan(0)
  expect(ledger.balance("tenant:acme")?.heldNano).toBe(0n)
  store.close()
  const database = new Database(path)
  const runs = database.query<{ level: number }, []>("SELECT DISTINCT level FROM sum_runs").all()
  database.close()
  // Folded and merged: neither was spared.
  expect(runs.length).toBeGreaterThan(1)
})
