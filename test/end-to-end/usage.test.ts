// Usage reports and the verification of the ledger, over the administration port and on the store itself.

import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { Json } from "../../src/canonical/json.ts"
import { bookCall, USAGE, withOfflineLedger } from "../administration/offline-store.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"

type UsageReportRow = Record<string, Json>

const folder = new KeyFolder()
const today = new Date().toISOString().slice(0, 10)
const ids = { one: "", two: "" }

beforeAll(async () => {
  folder.within((keys) => {
    ids.one = keys.create({ name: "one", tenant: "acme" }).key.id
    ids.two = keys.create({ name: "two", tenant: "beta" }).key.id
  })
  await withOfflineLedger({ dataDir: folder.path }, async (ledger) => {
    let requests = 0
    const days = ["2026-01-30", "2026-01-31", "2026-02-01", today].map((date) => Date.parse(date))
    for (const [keyId, tenant] of [
      [ids.one, "acme"],
      [ids.two, "beta"],
    ] as const)
      for (const at of days)
        for (const model of ["a/large", "a/small"])
          for (const _ of [1, 2])
            await bookCall(ledger, { requestId: `request ${++requests}`, tenant, keyId, at, model })
  })
})
afterAll(() => folder.remove())

const run = (...words: string[]) => runCommand([...words, "--data", folder.path], { folder: folder.path })

async function rows(...words: string[]): Promise<UsageReportRow[]> {
  const { stdout, stderr, code } = await run("usage", ...words, "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

/** The same whether a gateway runs or not. */
function usageTests(): void {
  test("usage is shown per day, key, model and provider, of this month by default", async () => {
    const all = await rows()
    expect(all).toHaveLength(4)
    expect(all[0]).toEqual({
      ...{ date: today, tenant: "acme", key: ids.one, model: "a/large", provider: "openai", requests: 2 },
      ...{ input: 2 * USAGE.input, cache_read: 2 * USAGE.cacheRead, cache_write: 0, cache_write_1h: 0 },
      ...{ audio_input: 0, image_input: 0, output: 2 * USAGE.output, reasoning: 0, audio_output: 0, image_output: 0 },
      ...{ images: 0, paid: "0.01402" },
    })
  })

  test("usage is filtered by days, tenant, key and model", async () => {
    const january = ["--from", "2026-01-01", "--to", "2026-01-31"]
    const dates = (found: UsageReportRow[]) => [...new Set(found.map(({ date }) => date))]
    const all = await rows(...january)
    expect([all.length, dates(all)]).toEqual([8, ["2026-01-30", "2026-01-31"]])
    expect((await rows(...january, "--tenant", "beta")).map(({ tenant }) => tenant)).toEqual(Array(4).fill("beta"))
    const keyed = await rows(...january, "--key", ids.one, "--model", "a/small")
    expect(keyed.map(({ key, model, date }) => `${key} ${model} ${date}`)).toEqual([
      `${ids.one} a/small 2026-01-30`,
      `${ids.one} a/small 2026-01-31`,
    ])
    expect(await rows("--from", "2025-01-01", "--to", "2025-12-31")).toEqual([])
  })

  test("usage is printed as a table with its sum", async () => {
    const { stdout } = await run("usage", "--from", "2026-01-31", "--to", "2026-01-31", "--tenant", "acme")
    const lines = stdout.split("\n")
    expect(lines[0]).toMatch(/^DATE +TENANT +KEY +MODEL +PROVIDER +REQUESTS +INPUT +OUTPUT +USD$/)
    expect(lines[1]).toMatch(new RegExp(`^2026-01-31 +acme +${ids.one} +a/large +openai +2 +4000 +602 +0.01402$`))
    expect(lines.slice(3)).toEqual(["", "4 requests, 0.02804 USD", ""])
    expect((await run("usage", "--to", "2025-12-31")).stdout).toBe("No usage in this period.\n")
  })

  const mistakes: readonly [string[], RegExp][] = [
    [["--from", "yesterday"], /2026-11-15/],
    [["--to", "2026-02-30"], /2026-11-15/],
    [["--key", "key_nobody"], /^There is no key key_nobody\./],
  ]
  test.each(mistakes)("usage with %p is rejected with a hint", async (words, hint) => {
    const { code, stdout, stderr } = await run("usage", ...words)
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toMatch(hint)
    expect(stderr).not.toContain("    at ")
  })

  test("the ledger is verified as consistent", async () => {
    const { code, stdout } = await run("ledger", "verify")
    expect([code, stdout]).toEqual([0, "The ledger is consistent.\n"])
    expect(JSON.parse((await run("ledger", "verify", "--json")).stdout)).toEqual({ sound: true, problems: [] })
  })
}

describe("usage on the store itself", usageTests)

describe("usage over the administration port", () => {
  let gateway: RunningGateway
  beforeAll(async () => {
    gateway = await RunningGateway.start({ dataDir: folder.path })
  })
  afterAll(() => gateway.stop())

  usageTests()

  test("usage is returned in pages, every row once", async () => {
    const query = "from=2026-01-01&to=2026-12-31&limit=3"
    const pages: UsageReportRow[][] = []
    let next: Json = ""
    while (next !== null) {
      const after = next === "" ? "" : `&after=${next}`
      const page = (await (await gateway.administer(`/admin/v1/usage?${query}${after}`)).json()) as UsageReportRow
      pages.push(page.usage as UsageReportRow[])
      next = page.next ?? null
    }
    expect(pages.slice(0, -1).map((page) => page.length)).toEqual(Array(pages.length - 1).fill(3))
    expect(pages.flat()).toEqual(await rows("--from", "2026-01-01", "--to", "2026-12-31"))
  })
})

describe("an inconsistent ledger", () => {
  test("an inconsistent ledger is reported, each problem on its line, with exit code 1", async () => {
    const database = new Database(join(folder.path, "trivium.db"))
    database.run("UPDATE account_rows SET posted = posted + 1, before = before + 1 WHERE name = 'revenue'")
    database.close()
    const { code, stdout, stderr } = await run("ledger", "verify")
    expect([code, stderr]).toEqual([1, ""])
    expect(stdout).toMatch(/^I\d+: .*revenue/m)
    const verdict = await run("ledger", "verify", "--json")
    expect(verdict.code).toBe(1)
    expect(JSON.parse(verdict.stdout)).toMatchObject({ sound: false, problems: [{ invariant: "I2" }] })
  })
})
