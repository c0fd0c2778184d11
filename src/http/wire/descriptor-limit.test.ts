import { expect, test } from "bun:test"
import { connectionsWithin } from "./descriptor-limit.ts"

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft}                20000                files     \n`

test.each([
  ["as configured if there are enough descriptors", 10_000, limits("20000"), 10_000],
  ["reduced to the limit on open files", 10_000, limits("1000"), 600],
  ["at least one", 10_000, limits("1"), 1],
  ["as configured without a limit", 10_000, limits("unlimited"), 10_000],
  ["as configured if the system does not report a limit", 10_000, "", 10_000],
])("the number of connections is %s", (_, wanted, text, most) => {
  expect(connectionsWithin(wanted, text)).toBe(most)
})
