import { describe, expect, test } from "bun:test"
import { toBalanceView } from "./balance-service.ts"
import { createKeyRegistry, fakeBalances } from "./key-registry.fixture.ts"

describe("a balance of a key's own", () => {
  test("a balance of a key's own is there from the start, or from the first time it is added to", async () => {
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

  test("on which nothing was paid holds nothing, and is not its tenant's", async () => {
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

  test("a balance of a key's own is taken away without a trace where there was none, and else given back as it was", async () => {
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

  test("that is changed is known to callers at once", async () => {
    const keys = createKeyRegistry()
    const { key, text } = keys.create({ name: "a" })
    expect(keys.authenticate(text).ownBalance).toBe(false)
    await keys.setOwnBalance(key.id, true)
    expect(keys.authenticate(text).ownBalance).toBe(true)
  })

  test("that could not be booked leaves no key that works, and no key that seems to have one", async () => {
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
    await expect(keys.tenants.topUp("nobody", { nanoUsd: 5n, eventId: "e" })).rejects.toThrow("no tenant nobody")
    expect(money.floors.size).toBe(0)
  })
})

describe("a tenant's balance", () => {
  test("a tenant's balance is what its keys pay from that have none of their own", async () => {
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
  test("in force are the key's and its tenant's, in one list made once", () => {
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
