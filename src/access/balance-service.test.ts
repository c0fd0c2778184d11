import { describe, expect, test } from "bun:test"
import { toBalanceView } from "./balance-service.ts"
import { createKeyRegistry, fakeBalances } from "./key-registry.fixture.ts"

describe("a balance of a key's own", () => {
  test("a key has its own balance from its creation, or from its first top-up", async () => {
    const keys = createKeyRegistry()
    const funded = await keys.createFunded({ name: "a" }, 5n)
    expect(funded.key.ownBalance).toBe(true)
    expect(keys.balanceOf(funded.key)?.freeNano).toBe(5n)
    const { key } = keys.create({ name: "b" })
    expect(key.ownBalance).toBe(false)
    expect(keys.balanceOf(key)).toBeUndefined()
    for (let again = 0; again < 3; again++) await keys.topUp(key.id, { nanoUsd: 7n, eventId: "e" })
    expect(keys.get(key.id).ownBalance).toBe(true)
    expect(keys.balanceOf(keys.get(key.id))?.freeNano).toBe(7n)
  })

  test("a new balance of a key's own is zero, and not its tenant's", async () => {
    const money = fakeBalances()
    const keys = createKeyRegistry({ balances: money })
    const { key } = await keys.createFunded({ name: "a" }, 0n)
    expect(keys.balanceOf(key)?.freeNano).toBe(0n)
    const late = keys.create({ name: "b" }).key
    await keys.setOwnBalance(late.id, true)
    expect([...money.floors]).toEqual([
      [`key:${key.id}`, 0n],
      [`key:${late.id}`, 0n],
    ])
  })

  test("a balance that is switched off leaves no account behind if there was none, and is restored when switched on", async () => {
    const money = fakeBalances()
    const keys = createKeyRegistry({ balances: money })
    const { id } = keys.create({ name: "a", tenant: "acme" }).key
    await keys.setOwnBalance(id, false)
    expect(money.floors.size).toBe(0)
    await keys.topUp(id, { nanoUsd: 7n, eventId: "e" })
    const without = await keys.setOwnBalance(id, false)
    expect(without.ownBalance).toBe(false)
    expect(money.floors.get(`key:${id}`)).toBeNull()
    expect(keys.balanceOf(without)).toBeUndefined()
    expect(keys.balanceOf(await keys.setOwnBalance(id, true))?.freeNano).toBe(7n)
  })

  test("a change of the paying account reaches authenticated callers at once", async () => {
    const keys = createKeyRegistry()
    const { key, text } = keys.create({ name: "a" })
    expect(keys.authenticate(text).ownBalance).toBe(false)
    await keys.setOwnBalance(key.id, true)
    expect(keys.authenticate(text).ownBalance).toBe(true)
  })

  test("a balance that cannot be booked leaves no usable key, and no key that claims to have one", async () => {
    const money = fakeBalances()
    const keys = createKeyRegistry({ balances: money })
    const { key } = keys.create({ name: "old" })
    money.fails = true
    await expect(keys.createFunded({ name: "a" }, 5n)).rejects.toThrow("away")
    expect(keys.list().map(({ revokedAt }) => revokedAt !== null)).toEqual([false, true])
    await expect(keys.topUp(key.id, { nanoUsd: 5n, eventId: "e" })).rejects.toThrow("away")
    await expect(keys.setOwnBalance(key.id, true)).rejects.toThrow("away")
    expect(keys.get(key.id).ownBalance).toBe(false)
  })

  test("a top-up of an unknown key is rejected", async () => {
    const money = fakeBalances()
    const keys = createKeyRegistry({ balances: money })
    await expect(keys.topUp("key_0", { nanoUsd: 5n, eventId: "e" })).rejects.toThrow("no key key_0")
    await expect(keys.tenants.topUp("unknown", { nanoUsd: 5n, eventId: "e" })).rejects.toThrow("no tenant unknown")
    expect(money.floors.size).toBe(0)
  })
})

describe("a tenant's balance", () => {
  test("keys without their own balance pay from their tenant's", async () => {
    const keys = createKeyRegistry()
    const { key } = keys.create({ name: "a", tenant: "acme" })
    const own = (await keys.createFunded({ name: "b", tenant: "acme" }, 1n)).key
    expect(toBalanceView(keys.balanceOf(key))).toEqual({ balance: null, held: "0" })
    keys.tenants.create("acme")
    await keys.tenants.topUp("acme", { nanoUsd: 5_000_000_000n, eventId: "e" })
    await keys.tenants.topUp("acme", { nanoUsd: 5_000_000_000n, eventId: "e" })
    expect(toBalanceView(keys.balanceOf(key))).toEqual({ balance: "5", held: "0" })
    expect(toBalanceView(keys.balanceOf(own))).toEqual({ balance: "0.000000001", held: "0" })
  })
})

describe("budgets", () => {
  test("the budgets in force are the key's and its tenant's, in one cached list", () => {
    const keys = createKeyRegistry()
    const { text } = keys.create({ name: "a", tenant: "acme", budgets: { day: 1n, total: 4n } })
    const plain = keys.create({ name: "b" }).text
    keys.tenants.create("acme", { budgets: { day: 5n, month: 9n } })
    const { budgetsInForce } = keys.authenticate(text)
    expect(budgetsInForce).toEqual([
      { of: "key", period: "day", limitNano: 1n },
      { of: "key", period: "total", limitNano: 4n },
      { of: "tenant", period: "day", limitNano: 5n },
      { of: "tenant", period: "month", limitNano: 9n },
    ])
    expect(keys.authenticate(text).budgetsInForce).toBe(budgetsInForce)
    expect(keys.authenticate(plain).budgetsInForce).toEqual([])
  })
})
