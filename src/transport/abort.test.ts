import { expect, test } from "bun:test"
import { Abort } from "./abort.ts"

test("the first reason counts, and each listener gets it once", () => {
  const abort = new Abort()
  const reasons: unknown[] = []
  abort.onAbort = () => reasons.push(abort.reason)
  abort.signal.addEventListener("abort", () => reasons.push(abort.signal.reason))
  abort.abort("first")
  abort.abort("second")
  expect(reasons).toEqual(["first", "first"])
  expect(abort).toMatchObject({ aborted: true, reason: "first" })
})

test("a signal requested after the abort is already aborted", () => {
  const abort = new Abort()
  abort.abort("enough")
  expect(abort.signal.aborted).toBe(true)
  expect(abort.signal.reason).toBe("enough")
})
