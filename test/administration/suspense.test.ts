// Money that a killed gateway left in suspense: an operator lists, settles and returns it over the administration port
// and on the command line, with and without a running gateway.
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { withOfflineLedger } from "./offline-store.ts"

let data: string
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), "trivium-suspense-"))
  await withOfflineLedger({ dataDir: data }, async (ledger) => {
    await ledger.topUp({ account: "tenant:acme", amountNano: 1_000_000_000n, eventId: "first", at: Date.now() })
    for (const requestId of ["killed-1", "killed-2", "killed-3"])
      await ledger.hold({ requestId, tenant: "acme", keyId: "key_1", amountNano: 100_000_000n, at: Date.now() })
    ledger.note("killed-1", { lowerBoundNano: 20_000_000n })
  })
})
afterEach(() => rmSync(data, { recursive: true, force: true }))

const run = (...words: string[]) => runCommand(["ledger", "suspense", ...words, "--data", data], { folder: data })
async function json<Result>(...words: string[]): Promise<Result> {
  const { code, stdout, stderr } = await run(...words, "--json")
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

interface SuspenseBody {
  readonly suspense: { readonly id: string; readonly amount: string; readonly since: string; returns_at: string }[]
  readonly count: number
  readonly total: string
}

async function balanceOf(gateway: RunningGateway): Promise<string> {
  await gateway.administer("/admin/v1/tenants", { method: "POST", body: JSON.stringify({ name: "acme" }) })
  const answer = await gateway.administer("/admin/v1/tenants/acme")
  return ((await answer.json()) as { balance: string }).balance
}

async function metric(gateway: RunningGateway): Promise<string | undefined> {
  const text = await (await gateway.administer("/metrics")).text()
  return /^trivium_suspense_usd (\S+)$/m.exec(text)?.[1]
}

test("the administration of a running gateway lists, settles and returns money in suspense", async () => {
  const gateway = await RunningGateway.start({ dataDir: data })
  try {
    expect(await balanceOf(gateway)).toBe("0.7")
    expect(await metric(gateway)).toBe("0.28")
    const listed = await json<SuspenseBody>("list")
    expect(listed).toMatchObject({ count: 3, total: "0.28" })
    expect(listed.suspense.map(({ id, amount }) => `${id} ${amount}`)).toEqual([
      ...["killed-1 0.08", "killed-2 0.1", "killed-3 0.1"],
    ])
    const [first] = listed.suspense
    expect(Date.parse(first?.returns_at ?? "") - Date.parse(first?.since ?? "")).toBe(24 * 3_600_000)
    const settled = { cost: "0.05", paid: "0.05", in_suspense: "0", returned: "0.05", outcome: "recovered" }
    for (let again = 0; again < 2; again++)
      expect(await json<object>("settle", "killed-1", "--usd", "0.03")).toMatchObject(settled)
    const { stdout } = await run("return", "killed-2")
    expect(stdout).toBe("killed-2: 0 USD charged, 0.1 USD returned.\n")
    expect(await json<object>("return", "--all")).toEqual({ returned: 1, amount: "0.1" })
    expect(await json<object>("return", "--all")).toEqual({ returned: 0, amount: "0" })
    expect((await run()).stdout).toBe("Nothing is in suspense.\n")
    expect([await balanceOf(gateway), await metric(gateway)]).toEqual(["0.95", "0"])
    const verdict = await gateway.administer("/admin/v1/ledger/verify", { method: "POST" })
    expect(await verdict.json()).toEqual({ sound: true, problems: [] })
  } finally {
    await gateway.stop()
  }
})

test("without a gateway the commands list, settle and return money in suspense on the store", async () => {
  const { stdout } = await run("list")
  expect(stdout).toContain("killed-2")
  expect(stdout).toEndWith("3 requests, 0.28 USD\n")
  expect(await json<object>("settle", "killed-2")).toMatchObject({ cost: "0.1", paid: "0.1", in_suspense: "0" })
  expect(await json<object>("return", "--all")).toEqual({ returned: 2, amount: "0.18" })
  const verdict = await runCommand(["ledger", "verify", "--data", data], { folder: data })
  expect(verdict.stdout).toBe("The ledger is consistent.\n")
})

test("a command without a request, with both options, or for a request without suspense fails with a message", async () => {
  expect(await run("return")).toMatchObject({ code: 1, stderr: "Give the id of one request, or --all.\n" })
  expect(await run("return", "killed-1", "--all")).toMatchObject({ code: 1 })
  const { code, stderr } = await run("return", "nobody")
  expect([code, stderr]).toEqual([1, expect.stringContaining("has nothing in suspense")])
  expect((await run("settle", "killed-1", "--usd", "0.09")).stderr).toContain("only 0.08 USD")
})

test("after the configured hours the gateway returns money in suspense by itself", async () => {
  const gateway = await RunningGateway.start({ dataDir: data, config: "ledger: { suspense_hours: 0 }\n" })
  try {
    for (let waited = 0; (await metric(gateway)) !== "0" && waited < 10_000; waited += 50) await Bun.sleep(50)
    expect([await balanceOf(gateway), await metric(gateway)]).toEqual(["0.98", "0"])
  } finally {
    await gateway.stop()
  }
})
