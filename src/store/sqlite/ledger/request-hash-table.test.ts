import { expect, test } from "bun:test"
import fc from "fast-check"
import { type ChainedItem, RequestHashTable } from "./request-hash-table.ts"

interface LinkedItem extends ChainedItem<LinkedItem> {
  readonly row: { readonly requestId: string }
}

const item = (requestId: string): LinkedItem => ({ row: { requestId }, next: undefined })

test("the hash table finds what a Map would, after any insertions and removals", () => {
  // Few names, some of which share a slot because their ends are equal.
  const name = fc.oneof(
    fc.constantFrom("", "a", "1-0000", "2-0000", "3-0000", "4-0000"),
    fc.string({ maxLength: 3 }),
    fc.uuid({ version: 7 }),
  )
  const act = fc.oneof(
    { arbitrary: fc.constantFrom("add", "remove"), weight: 40 },
    { arbitrary: fc.constant("clear"), weight: 1 },
  )
  const steps = fc.array(fc.tuple(act, name), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (all) => {
      const [table, map] = [new RequestHashTable<LinkedItem>(), new Map<string, LinkedItem>()]
      for (const [step, requestId] of all) {
        if (step === "add" && !map.has(requestId)) {
          const added = item(requestId)
          table.add(added)
          map.set(requestId, added)
        }
        if (step === "remove") {
          expect(table.remove(requestId)).toBe(map.get(requestId) as LinkedItem)
          map.delete(requestId)
        }
        if (step === "clear") {
          table.clear()
          map.clear()
        }
        expect(table.get(requestId)).toBe(map.get(requestId) as LinkedItem)
      }
      const left = [...table.all()]
      expect(left).toHaveLength(map.size)
      expect(new Set(left)).toEqual(new Set(map.values()))
    }),
  )
})

test("the hash table spreads requests evenly over its slots", () => {
  const table = new RequestHashTable<LinkedItem>()
  for (let count = 0; count < 40_000; count++) table.add(item(Bun.randomUUIDv7()))
  const longest = Math.max(...[...table.all()].map(chainFrom))
  expect(longest).toBeLessThan(60)
})

function chainFrom(first: LinkedItem): number {
  let length = 0
  for (let each: LinkedItem | undefined = first; each; each = each.next) length++
  return length
}
