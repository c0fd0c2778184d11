import { expect, test } from "bun:test"
import { connectionsWithin } from "./descriptor-limit.ts"

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft}                20000                files     \n`

test.each([
  ["all that are wanted where there are descriptors for them", 10_000, limits("20000"), 10_000],
  ["no more than the limit on open files leaves room for", 10_000, limits("1000"), 600],
  ["at least one", 10_000, limits("1"), 1],
  ["all where nothing is limited", 10_000, limits("unlimited"), 10_000],
  ["all where the system does not tell", 10_000, "", 10_000],
])("there may be %s", (_, wanted, text, most) => {
  expect(connectionsWithin(wanted, text)).toBe(most)
})
