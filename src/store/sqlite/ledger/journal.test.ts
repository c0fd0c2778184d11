import { expect, test } from "bun:test"
import fc from "fast-check"
import { type EntryRow, USE_COUNTS } from "../../contract.ts"
import { findEntryIn, groupEndedRequests } from "./ended-requests.ts"
import { entriesOf, journalText } from "./journal.ts"
import { escapeName } from "./runs/run-lines.ts"

const AT = Date.UTC(2026, 10, 16)

const nano = fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n })
const amounts = fc.oneof(
  nano.map((paid) => ({ account: -paid, funding: 0n, revenue: paid, suspense: 0n, writeOff: 0n, debt: 0n })),
  fc.record({
    ...{ account: nano, funding: nano, revenue: nano, suspense: nano, writeOff: nano },
    debt: fc.oneof(fc.constant(0n), nano),
  }),
)
const counts = fc.record(Object.fromEntries(USE_COUNTS.map((name) => [name, fc.nat()])), { requiredKeys: [] })
const use = fc.record({
  model: fc.constantFrom("m", "n"),
  provider: fc.constantFrom("p", "q"),
  counts,
  priceVersion: fc.constantFrom("v1", null),
})
/** Ids that sort by time, or any others. */
const cause = fc.oneof(
  fc.nat(9999).map((number) => `0199aaa${number % 3}-${number}`),
  fc.string({ unit: "binary", maxLength: 12 }),
)
const entry: fc.Arbitrary<EntryRow> = fc
  .record({
    kind: fc.constantFrom("settled", "released", "top-up", "suspense-returned", "suspense-settled"),
    cause,
    tenant: fc.constantFrom("acme", null),
    keyId: fc.constantFrom("k1", "k2", null),
    day: fc.nat(3),
    age: fc.integer({ min: -1000, max: 1000 }),
    accountId: fc.nat(3),
    nano: amounts,
    heldNano: fc.option(nano),
    protocol: fc.constantFrom("openai-chat", null),
    use: fc.option(use),
  })
  .map(({ kind, cause, age, ...rest }) => {
    const isRequest = kind === "settled" || kind === "released"
    const named = isRequest ? { requestId: cause, eventId: null } : { requestId: null, eventId: cause }
    return { kind, ...named, at: AT + age, ...rest } as EntryRow
  })

test("entries are read from the journal as they were booked", () => {
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 40 }), (entries) => {
      const { at } = entries.at(-1) as EntryRow
      expect(entriesOf({ at: BigInt(at), entries: journalText(entries, at) })).toEqual(entries)
    }),
  )
})

test("each request of a group of entries is found as its own, and no other", () => {
  const booked = fc.uniqueArray(entry, { maxLength: 250, selector: ({ requestId, eventId }) => requestId ?? eventId })
  fc.assert(
    fc.property(booked, cause, (entries, other) => {
      const groups = groupEndedRequests(entries, { first: 7, newest: "" })
      const found = (name: string) => groups.map(({ lines }) => findEntryIn(lines, escapeName(name))).filter((id) => id)
      entries.forEach(({ requestId }, at) => {
        if (requestId !== null) expect(found(requestId)).toEqual([7 + at])
      })
      if (entries.every(({ requestId }) => requestId !== other)) expect(found(other)).toEqual([])
      for (const { lines } of groups) {
        const [, ...names] = lines.split("\n")
        expect(new Set(names.map((name) => name.slice(0, 8))).size).toBe(1)
      }
    }),
  )
})
