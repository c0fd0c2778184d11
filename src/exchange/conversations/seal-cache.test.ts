import { describe, expect, test } from "bun:test"
import type { ReasoningPart } from "../../canonical/chat/content-part.ts"
import { relevantSeals, SealCache } from "./seal-cache.ts"

const thought = (data: string): ReasoningPart => ({
  kind: "reasoning",
  form: "full",
  text: "hm",
  sealed: { mintedBy: "m", data },
})

describe("cached seals", () => {
  const calls = (seals: SealCache, tenant: string) => [...seals.lookup(tenant).calls.keys()]
  const texts = (seals: SealCache, tenant: string) => [...seals.lookup(tenant).texts.keys()]

  test("a cached seal of a call is found only by its own tenant", () => {
    const seals = new SealCache()
    seals.keep("a", "1", { before: [thought("x")] })
    expect(seals.lookup("a").calls.get("1")?.before).toEqual([thought("x")])
    expect(seals.lookup("b").calls.size).toBe(0)
  })

  test("a cached seal of a text is found only by its own tenant", () => {
    const seals = new SealCache()
    seals.keepTrailing("a", ["k", "l"], [thought("x")])
    expect(seals.lookup("a").texts.get("l")?.before).toEqual([thought("x")])
    expect(texts(seals, "b")).toEqual([])
    expect(calls(seals, "a")).toEqual([])
  })

  test("cached seals expire", () => {
    let now = 0
    const seals = new SealCache({ now: () => now, lifetimeMs: 1000 })
    seals.keep("a", "1", { before: [] })
    seals.keepTrailing("a", ["k"], [])
    now = 999
    expect([calls(seals, "a"), texts(seals, "a")]).toEqual([["1"], ["k"]])
    now = 1000
    expect([calls(seals, "a"), texts(seals, "a")]).toEqual([[], []])
  })

  test("the seal cache stays within its size: a tenant's oldest seals are evicted first, then the oldest tenant's", () => {
    const large = { before: [thought("x".repeat(1000))] }
    const seals = new SealCache({ maxTenantSize: 5000, maxSize: 8000 })
    for (const id of ["1", "2", "3"]) seals.keep("a", id, large)
    expect(calls(seals, "a")).toEqual(["2", "3"])
    for (const id of ["4", "5"]) seals.keep("b", id, large)
    expect(calls(seals, "a")).toEqual(["3"])
    expect(calls(seals, "b")).toEqual(["4", "5"])
  })

  test("seals of calls and of texts share one size limit", () => {
    let now = 0
    const seals = new SealCache({ maxTenantSize: 5000, now: () => now++ })
    const large = [thought("x".repeat(1000))]
    seals.keepTrailing("a", ["k"], large)
    seals.keep("a", "1", { before: large })
    seals.keepTrailing("a", ["l"], large)
    expect([calls(seals, "a"), texts(seals, "a")]).toEqual([["1"], ["l"]])
    seals.keep("a", "2", { before: large })
    expect([calls(seals, "a"), texts(seals, "a")]).toEqual([["2"], ["l"]])
  })

  test("a seal larger than the cache is not stored and does not evict others for long", () => {
    const seals = new SealCache({ maxTenantSize: 1000 })
    seals.keepTrailing("a", ["k"], [thought("x".repeat(1000))])
    expect(texts(seals, "a")).toEqual([])
    seals.keepTrailing("a", ["l"], [thought("x")])
    expect(texts(seals, "a")).toEqual(["l"])
  })

  test("a worker receives the seals of the calls that a request names, and the seals of texts", () => {
    const seals = new SealCache()
    for (const id of ["1", "2", "3", "4"]) seals.keep("a", id, { before: [] })
    seals.keepTrailing("a", ["k"], [])
    const request = '{"tool_call_id":"1"},{"tool_use_id":"2"},{"call_id" : "3"},{"id":"4"}'
    const relevant = structuredClone(relevantSeals(seals.lookup("a"), request))
    expect([[...relevant.calls.keys()], [...relevant.texts.keys()]]).toEqual([["1", "2", "3"], ["k"]])
  })
})
