import { expect, test } from "bun:test"
import fc from "fast-check"
import { nanoOfUsd, usdOfNano } from "./usd.ts"

test.each([
  ["12.50", 12_500_000_000n],
  ["0.000000001", 1n],
  ["3", 3_000_000_000n],
])("%s USD is a whole number of nano-USD", (text, nano) => {
  expect(nanoOfUsd(text)).toBe(nano)
})

test.each(["", ".5", "1.", "1e3", "0.0000000001", "1,000", " 1", "NaN", "1000000000", "-1"])(
  "%p is not an amount",
  (text) => {
    expect(nanoOfUsd(text)).toBeUndefined()
  },
)

test("a formatted amount parses to the same value", () => {
  const nano = fc.bigInt({ min: 0n, max: 10n ** 17n })
  fc.assert(fc.property(nano, (amount) => expect(nanoOfUsd(usdOfNano(amount))).toBe(amount)))
})

test("an amount is formatted without trailing zeros", () => {
  expect([0n, 12_500_000_000n, -1n, 40_000_000n].map(usdOfNano)).toEqual(["0", "12.5", "-0.000000001", "0.04"])
})
