import { expect, test } from "bun:test"
import { setTimeout as sleep } from "node:timers/promises"
import { DeadlineTimer } from "./deadline-timer.ts"

test("a deadline fires once, not before its time", async () => {
  const deadlines = new DeadlineTimer()
  const start = performance.now()
  const fired: number[] = []
  deadlines.arm(150, () => fired.push(performance.now() - start))
  await sleep(500)
  expect(fired).toHaveLength(1)
  expect(fired[0]).toBeGreaterThanOrEqual(150)
})

test("a cleared deadline does not fire; an extended one fires later; a fired one can be armed again", async () => {
  const deadlines = new DeadlineTimer()
  const fired: string[] = []
  deadlines.arm(50, () => fired.push("cleared")).clear()
  deadlines.arm(50, () => fired.push("extended")).extend(60_000)
  const again = deadlines.arm(50, () => fired.push("again"))
  await sleep(300)
  expect(fired).toEqual(["again"])
  again.extend(50)
  await sleep(300)
  expect(fired).toEqual(["again", "again"])
})
