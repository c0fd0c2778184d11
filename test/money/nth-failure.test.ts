// A whole exchange over a store that fails at its n-th call, for every n: the caller is answered and charged once as
// the upstream bills, or gets a 503 without an upstream call. The ledger stays consistent.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Ledger } from "../../src/ledger/ledger.ts"
import type { Store } from "../../src/store/contract.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"
import { faultyTable, TableFaults } from "../ledger/faulty-table.ts"
import { eventually } from "../stage/eventually.ts"
import { type MoneyRequest, readSome, sendRequest } from "./client.ts"
import { MoneyFixture, modelAt, tokensOf } from "./money-fixture.ts"

/** More calls than an exchange makes. */
const MOST_CALLS = 200

let folder: string
let store: Store
let books: MoneyFixture
/** Sees what is in the store without being counted. */
let ledger: Ledger
const faults = new TableFaults()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "trivium-nth-exchange-"))
  store = openSqlite(join(folder, "trivium.db"))
  ledger = new Ledger({ table: store.ledger })
  books = await MoneyFixture.open({
    bookWith: () => {
      const faulty = new Ledger({ table: faultyTable(store.ledger, faults) })
      faulty.recover()
      return faulty
    },
  })
  await sendRequest(asking({ words: "usage-missing" }))
})
afterAll(async () => {
  faults.failAt(undefined)
  await books.close()
  store.close()
  rmSync(folder, { recursive: true })
})

function asking({ words = "", stream = false }: { words?: string; stream?: boolean }): MoneyRequest {
  const { url, key } = books.gateway
  return { url, key, protocol: "openai-chat", model: modelAt("openai-chat", words), stream, text: "Say 900 words." }
}

const heldNano = () => ledger.balance("tenant:default")?.heldNano ?? 0n

interface FailureAnswer {
  readonly status: number
  readonly id: string
}

/** Fails at each call in turn, until there is none left to fail at. */
async function atEachCall(
  exchange: () => Promise<FailureAnswer>,
  check: (answer: FailureAnswer, billed: number) => Promise<void>,
) {
  for (let call = 0; call < MOST_CALLS; call++) {
    const before = books.bills.charges.length
    faults.failAt(call)
    const answer = await exchange()
    await eventually(() => heldNano() === 0n, { what: `the end of what was held (call ${call})` })
    await eventually(() => ledger.receipt(answer.id) !== undefined || answer.status === 503, { what: "the receipt" })
    const { happened } = faults
    faults.failAt(undefined)
    expect(await ledger.verify()).toEqual([])
    await check(answer, books.bills.charges.length - before)
    if (!happened) return call
  }
  throw new Error(`an exchange makes more than ${MOST_CALLS} calls`)
}

async function expectPaidOnce({ status, id }: FailureAnswer, billed: number): Promise<void> {
  if (status === 503) {
    expect(billed).toBe(0)
    expect(ledger.receipt(id)).toBeUndefined()
    return
  }
  expect([status, billed]).toEqual([200, 1])
  const bill = books.bills.charges.at(-1)
  const receipt = ledger.receipt(id)
  expect(receipt?.outcome).toBe("settled")
  expect(tokensOf(nanoAsUsd(receipt?.chargeNano ?? 0n))).toEqual({
    input: bill?.input_tokens ?? -1,
    output: bill?.output_tokens ?? -1,
  })
}

function nanoAsUsd(nano: bigint): string {
  return `${nano / 10n ** 9n}.${String(nano % 10n ** 9n).padStart(9, "0")}`
}

describe("a store that fails at its n-th call", () => {
  test("a unary exchange is charged once if the store fails at its n-th call", async () => {
    expect(await atEachCall(() => sendRequest(asking({})), expectPaidOnce)).toBeGreaterThan(3)
  })

  test("a stream that extends its hold is charged once if the store fails at its n-th call", async () => {
    expect(await atEachCall(() => sendRequest(asking({ stream: true })), expectPaidOnce)).toBeGreaterThan(3)
  })

  test("an exchange whose attempts all fail is free if the store fails at its n-th call", async () => {
    const check = async ({ status, id }: FailureAnswer, billed: number) => {
      expect([status, billed]).toEqual([503, 0])
      expect([undefined, "released"]).toContain(ledger.receipt(id)?.outcome)
    }
    expect(await atEachCall(() => sendRequest(asking({ words: "status-503" })), check)).toBeGreaterThan(3)
  })

  test("a stream whose client leaves is settled if the store fails at its n-th call", async () => {
    const leaves = () =>
      readSome(
        asking({ words: "tokens-per-second-400", stream: true }),
        (text) => text.includes("configure") || text.includes("error"),
      )
    const check = async ({ status, id }: FailureAnswer) => {
      if (status === 503) expect(ledger.receipt(id)).toBeUndefined()
      else expect(ledger.receipt(id)).toMatchObject({ outcome: "settled" })
    }
    expect(await atEachCall(leaves, check)).toBeGreaterThan(3)
  })
})
