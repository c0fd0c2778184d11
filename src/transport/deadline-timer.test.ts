import { expect, test } from "bun:test"
import { DeadlineTimer } from "./deadline-timer.ts"
import { ManualClock } from "./event-loop/manual-clock.fixture.ts"

const RESOLUTION_MS = 100

test("a deadline fires once, not before its time and soon after it", () => {
  const clock = new ManualClock()
  let fired = 0
  new DeadlineTimer(clock).arm(150, () => fired++)
  clock.advance(149)
  expect(fired).toBe(0)
  clock.advance(1 + RESOLUTION_MS)
  expect(fired).toBe(1)
  clock.advance(1000)
  expect(fired).toBe(1)
})

test("a cleared deadline does not fire; an extended one fires later; a fired one can be armed again", () => {
  const clock = new ManualClock()
  const deadlines = new DeadlineTimer(clock)
  const fired: string[] = []
  deadlines.arm(50, () => fired.push("cleared")).clear()
  deadlines.arm(50, () => fired.push("extended")).extend(60_000)
  const again = deadlines.arm(50, () => fired.push("again"))
  clock.advance(300)
  expect(fired).toEqual(["again"])
  again.extend(50)
  clock.advance(300)
  expect(fired).toEqual(["again", "again"])
  clock.advance(60_000)
  expect(fired).toEqual(["again", "again", "extended"])
})

test("deadlines share one timer, which ends with the last of them", () => {
  const clock = new ManualClock()
  const deadlines = new DeadlineTimer(clock)
  for (let count = 0; count < 10; count++) deadlines.arm(50, () => {})
  expect(clock.running).toBe(1)
  clock.advance(200)
  expect(clock.running).toBe(0)
  let fired = 0
  deadlines.arm(50, () => fired++)
  clock.advance(200)
  expect([fired, clock.running]).toEqual([1, 0])
})

test("a deadline fires without a clock of the caller's", async () => {
  await new Promise<void>((resolve) => void new DeadlineTimer().arm(1, resolve))
})
