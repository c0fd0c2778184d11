import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { AccessChanges } from "./access-changes.ts"
import { LruCache } from "./lru-cache.ts"

describe("the cache", () => {
  const names = Array.from({ length: 10_000 }, (_, at) => `name ${at}`)

  test("the cache is bounded, and keeps at least the most recently used half", () => {
    const known = new LruCache<object>(100)
    for (const name of names) known.set(name, {})
    for (const name of names.slice(-50).reverse()) expect(known.get(name)).toBeDefined()
    expect(names.filter((name) => known.get(name) !== undefined).length).toBeLessThanOrEqual(100)
  })

  test("an entry that is used regularly stays in the cache", () => {
    const known = new LruCache<object>(100)
    const dear = {}
    known.set("dear", dear)
    for (const [at, name] of names.entries()) {
      known.set(name, {})
      if (at % 40 === 0) expect(known.get("dear")).toBe(dear)
    }
  })

  const step = fc.record({ does: fc.constantFrom("set", "get", "delete", "clear"), name: fc.nat(12).map(String) })

  test("the cache never returns a deleted or replaced entry", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 12 }), (steps, most) => {
        const known = new LruCache<{ at: number }>(most)
        const newest = new Map<string, number>()
        for (const [at, { does, name }] of steps.entries()) {
          if (does === "set") {
            newest.set(name, at)
            known.set(name, { at })
          } else if (does === "delete") {
            newest.delete(name)
            known.delete(name)
          } else if (does === "clear") {
            newest.clear()
            known.clear()
          }
          const found = known.get(name)
          if (found) expect(found.at).toBe(newest.get(name) ?? -1)
          if (does === "set") expect(found).toBeDefined()
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe("recorded changes", () => {
  const key = { id: "k", tenant: "t" }

  test("a change of the key or its tenant after it was read is noticed", () => {
    const changes = new AccessChanges(() => {})
    const first = changes.now
    changes.noteKey("other")
    changes.noteTenant("other")
    expect(changes.hasChangedSince(first, key)).toBe(false)
    changes.noteKey("k")
    const second = changes.now
    expect([changes.hasChangedSince(first, key), changes.hasChangedSince(second, key)]).toEqual([true, false])
    changes.noteTenant("t")
    expect([changes.hasChangedSince(second, key), changes.hasChangedSince(changes.now, key)]).toEqual([true, false])
  })

  test("an overflow of recorded changes is reported", () => {
    let reports = 0
    const changes = new AccessChanges(() => reports++)
    for (let at = 0; at < 25_000; at++) changes.noteKey(`key ${at}`)
    expect(reports).toBe(2)
    changes.noteKey("k")
    expect(changes.hasChangedSince(0, key)).toBe(true)
  })
})
