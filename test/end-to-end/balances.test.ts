// Balances and budgets of keys and tenants, over the command line, the administration port and the gateway. The
// simulator answers, and its usage is charged.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Json } from "../../src/canonical/json.ts"
import { nanoOfUsd } from "../../src/canonical/usd.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"

const MODEL = "openai/gpt-4o-mini"
const HI = { model: MODEL, messages: [{ role: "user", content: "hi" }], max_tokens: 100 }

type BalanceAnswer = Record<string, Json>

const folder = new KeyFolder()
let gateway: RunningGateway
beforeAll(async () => {
  const key = folder.within((keys) => keys.create({ name: "whole" }).text)
  gateway = await RunningGateway.start({ dataDir: folder.path, key })
})
afterAll(async () => {
  await gateway.stop()
  folder.remove()
})

const run = (...words: string[]) => runCommand([...words, "--data", folder.path], { folder: folder.path })

async function administer(method: string, path: string, body?: Json): Promise<BalanceAnswer & { status: number }> {
  const sent = body === undefined ? { method } : { method, body: JSON.stringify(body) }
  const response = await gateway.administer(`/admin/v1${path}`, sent)
  return { ...((await response.json()) as BalanceAnswer), status: response.status }
}

let made = 0
async function newKey(wish: Record<string, Json> = {}): Promise<{ id: string; key: string } & BalanceAnswer> {
  const { status, ...key } = await administer("POST", "/keys", { name: "payer", tenant: `tenant ${++made}`, ...wish })
  expect(status).toBe(201)
  return key as { id: string; key: string } & BalanceAnswer
}

function call(key: string, more: Record<string, Json> = {}, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  return gateway.chat({ ...HI, ...more }, { headers, ...init })
}

/** The cost of an answered call. */
async function spend(key: string): Promise<bigint> {
  const response = await call(key)
  expect(response.status).toBe(200)
  await response.text()
  return nanoOfUsd(response.headers.get("x-gateway-cost") ?? "") ?? -1n
}

const code = async (response: Response) =>
  `${response.status} ${((await response.json()) as { error?: { code: string } }).error?.code ?? "ok"}`

const own = async (key: string) =>
  (await (await fetch(`${gateway.url}/v1/key`, { headers: { "x-api-key": key } })).json()) as BalanceAnswer

const nano = (amount: Json | undefined) => nanoOfUsd(String(amount)) ?? -1n

describe("a key's own balance", () => {
  test("a key's own balance exists from its creation, is spent, and is reported to its holder and the operator", async () => {
    const { id, key, ...shown } = await newKey({ balance: "1.5" })
    expect(shown).toMatchObject({ own_balance: true, balance: "1.5", held: "0" })
    const cost = await spend(key)
    expect(cost).toBeGreaterThan(0n)
    const expected = { own_balance: true, held: "0" }
    for (const seen of [await own(key), await administer("GET", `/keys/${id}`)]) {
      expect(seen).toMatchObject(expected)
      expect(nano(seen.balance)).toBe(1_500_000_000n - cost)
    }
  })

  test("a key's own empty balance pays for nothing until it is topped up", async () => {
    const { id, key } = await newKey({ own_balance: true, tenant: "rich" })
    expect(await own(key)).toMatchObject({ balance: "0" })
    const refused = await call(key)
    expect(refused.headers.get("x-should-retry")).toBeNull()
    const { error } = (await refused.json()) as { error: { code: string; message: string } }
    expect([refused.status, error.code]).toEqual([403, "insufficient_balance"])
    expect(error.message).toMatch(/may cost up to 0\.0\d+ USD, and 0 USD is left of this key's balance/)
    expect(await administer("POST", `/keys/${id}/topup`, { usd: "0.25" })).toMatchObject({ balance: "0.25" })
    await spend(key)
  })

  test("a key's own balance is topped up once per event id, and the id is rejected for another amount or key", async () => {
    const { id } = await newKey()
    const paid = { usd: "2", event_id: `invoice ${id}` }
    for (const _ of [1, 2, 3]) {
      expect(await administer("POST", `/keys/${id}/topup`, paid)).toMatchObject({ status: 200, balance: "2" })
    }
    const conflict = { status: 409, error: { code: "idempotency_conflict" } }
    expect(await administer("POST", `/keys/${id}/topup`, { ...paid, usd: "3" })).toMatchObject(conflict)
    const other = await newKey()
    expect(await administer("POST", `/keys/${other.id}/topup`, paid)).toMatchObject(conflict)
    expect(await administer("POST", `/keys/${id}/topup`, { usd: "0.5" })).toMatchObject({ balance: "2.5" })
  })

  test.each(["0", "-1", "1e3", "100000000", "ten"])(
    "a top-up of a key's own balance by %p is rejected",
    async (usd) => {
      const { id } = await newKey()
      expect(await administer("POST", `/keys/${id}/topup`, { usd })).toMatchObject({ status: 400 })
      expect(await administer("GET", `/keys/${id}`)).toMatchObject({ own_balance: false, balance: null })
    },
  )

  test("an own balance given to an existing key starts empty and applies at once", async () => {
    const { id, key } = await newKey()
    await spend(key)
    expect(await administer("PATCH", `/keys/${id}`, { own_balance: true })).toMatchObject({ balance: "0" })
    expect(await code(await call(key))).toBe("403 insufficient_balance")
  })

  test("a key without its own balance any more spends its tenant's, and gets its own back unchanged", async () => {
    await administer("POST", "/tenants", { name: "parent" })
    await administer("POST", "/tenants/parent/topup", { usd: "1" })
    const { id, key } = await newKey({ tenant: "parent", balance: "3" })
    expect(await administer("PATCH", `/keys/${id}`, { own_balance: false })).toMatchObject({
      own_balance: false,
      balance: "1",
    })
    const cost = await spend(key)
    expect(nano((await administer("GET", "/tenants/parent")).balance)).toBe(1_000_000_000n - cost)
    expect(await code(await call(key, { max_tokens: 10_000_000 }))).toBe("403 insufficient_balance")
    expect(await administer("PATCH", `/keys/${id}`, { own_balance: true })).toMatchObject({ balance: "3" })
    expect(nano((await own(key)).balance)).toBe(3_000_000_000n)
  })

  test("a key's own balance shows the hold of a running request, and gets back the rest when the caller leaves", async () => {
    const { id, key } = await newKey({ balance: "1" })
    const leaving = new AbortController()
    const pending = call(key, { model: `${MODEL}@stall-before-headers` }, { signal: leaving.signal }).catch(() => {})
    await eventually(async () => (await own(key)).held !== "0", { what: "the hold" })
    const { balance, held } = await administer("GET", `/keys/${id}`)
    expect(nano(balance) + nano(held)).toBe(1_000_000_000n)
    leaving.abort()
    await pending
    await eventually(async () => (await own(key)).held === "0", { what: "the release" })
    expect(nano((await own(key)).balance)).toBeGreaterThan(nano(balance))
  })
})

describe("a tenant's balance", () => {
  test("a tenant's balance pays for its keys once topped up; before that nothing limits them", async () => {
    const [one, two] = [await newKey({ tenant: "acme" }), await newKey({ tenant: "acme" })]
    await spend(one.key)
    await administer("POST", "/tenants", { name: "acme" })
    expect(await administer("GET", "/tenants/acme")).toMatchObject({ balance: null, held: "0" })
    expect(await administer("POST", "/tenants/acme/topup", { usd: "0.001" })).toMatchObject({ balance: "0.001" })
    const spent = (await spend(one.key)) + (await spend(two.key))
    const left = 1_000_000n - spent
    expect(nano((await administer("GET", "/tenants/acme")).balance)).toBe(left)
    for (const { key } of [one, two]) {
      const shown = await own(key)
      expect(shown).toMatchObject({ own_balance: false })
      expect(nano(shown.balance)).toBe(left)
    }
    expect(await code(await call(one.key, { max_tokens: 10_000 }))).toBe("403 insufficient_balance")
    await administer("POST", "/tenants/acme/topup", { usd: "1" })
    expect(await code(await call(one.key, { max_tokens: 10_000 }))).toBe("200 ok")
  })

  test("a tenant's balance is not changed by a key with its own", async () => {
    await administer("POST", "/tenants", { name: "apart" })
    await administer("POST", "/tenants/apart/topup", { usd: "5" })
    const { key } = await newKey({ tenant: "apart", balance: "1" })
    await spend(key)
    expect(await administer("GET", "/tenants/apart")).toMatchObject({ balance: "5" })
  })

  test("a balance cannot be topped up for an unknown tenant", async () => {
    expect(await administer("POST", "/tenants/nobody/topup", { usd: "5" })).toMatchObject({
      status: 404,
      error: { message: expect.stringContaining("trivium tenants create nobody") as never },
    })
  })
})

describe("budgets", () => {
  test("budgets are reported with the remaining amount and the start of the next period", async () => {
    await administer("POST", "/tenants", { name: "thrifty", budgets: { month: "9" } })
    const { id, key } = await newKey({ tenant: "thrifty", budgets: { day: "2", total: "5" } })
    const other = await newKey({ tenant: "thrifty" })
    const spent = await spend(key)
    const more = await spend(other.key)
    const begins = (month: number, day: number) => new Date(Date.UTC(now.getUTCFullYear(), month, day)).toISOString()
    const now = new Date()
    for (const { spending } of [await own(key), await administer("GET", `/keys/${id}`)]) {
      const [day, total, month] = spending as Record<string, Json>[]
      const tomorrow = begins(now.getUTCMonth(), now.getUTCDate() + 1)
      expect(day).toMatchObject({ of: "key", period: "day", limit: "2", resets_at: tomorrow })
      expect(nano(day?.remaining)).toBe(2_000_000_000n - spent)
      expect(total).toMatchObject({ of: "key", period: "total", limit: "5", resets_at: null })
      expect(nano(total?.remaining)).toBe(5_000_000_000n - spent)
      const nextMonth = begins(now.getUTCMonth() + 1, 1)
      expect(month).toMatchObject({ of: "tenant", period: "month", limit: "9", resets_at: nextMonth })
      expect(nano(month?.remaining)).toBe(9_000_000_000n - spent - more)
    }
    expect(await administer("GET", "/tenants/thrifty")).toMatchObject({ spending: [{ of: "tenant", limit: "9" }] })
  })

  test("budgets of key and tenant both apply, from the next request on", async () => {
    await administer("POST", "/tenants", { name: "spent" })
    const { id, key } = await newKey({ tenant: "spent" })
    await spend(key)
    await administer("PATCH", "/tenants/spent", { budgets: { week: "0.00000001" } })
    expect(await code(await call(key))).toBe("403 budget_exceeded")
    await administer("PATCH", "/tenants/spent", { budgets: null })
    await administer("PATCH", `/keys/${id}`, { budgets: { total: "0" } })
    expect(await code(await call(key))).toBe("403 budget_exceeded")
    await administer("PATCH", `/keys/${id}`, { budgets: null })
    await spend(key)
  })
})

describe("the command line", () => {
  test("the command line tops up and shows balances of the running gateway, which applies them at once", async () => {
    const { key, id } = await folder.create("typed", "--balance", "0", "--tenant", "typed")
    expect(await code(await call(key))).toBe("403 insufficient_balance")
    expect((await run("keys", "topup", id, "2.50")).stdout).toBe(`${id} (typed) has 2.5 USD to spend.\n`)
    const cost = await spend(key)
    const [listed] = (await folder.json<BalanceAnswer[]>("list")).filter((each) => each.id === id)
    expect(nano(listed?.balance)).toBe(2_500_000_000n - cost)
    expect((await run("keys", "list")).stdout).toMatch(new RegExp(`${id} .* balance ${listed?.balance} USD +valid`))
    const missing = await run("tenants", "topup", "typed", "10")
    expect([missing.code, missing.stderr]).toEqual([
      1,
      "There is no tenant typed. Create it: trivium tenants create typed\n",
    ])
    await run("tenants", "create", "typed")
    expect((await run("tenants", "topup", "typed", "10")).stdout).toBe("typed has 10 USD to spend.\n")
    expect((await run("tenants", "list")).stdout).toMatch(/^typed +all +all +balance 10 USD$/m)
    expect(JSON.parse((await run("tenants", "topup", "typed", "1", "--json")).stdout)).toMatchObject({ balance: "11" })
  })

  test("the command line tops up and shows balances on the store if no gateway runs", async () => {
    const store = new KeyFolder()
    try {
      const { id } = await store.create("resting", "--balance", "3", "--strict-balance")
      expect((await store.run("topup", id, "0.25")).stdout).toBe(`${id} (resting) has 3.25 USD to spend.\n`)
      expect(await store.json<BalanceAnswer[]>("list")).toMatchObject([{ id, balance: "3.25", strict_balance: true }])
      const none = await store.run("topup", id, "none")
      expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/^`usd` must be an amount in USD/) as never])
    } finally {
      store.remove()
    }
  })
})
