import { expect, test } from "bun:test"
import { CompactionScheduler } from "./compaction-scheduler.ts"

/** A table that flushes in a given number of steps, and fails on demand. */
class FakeTable {
  isDue = false
  left = 0
  failures = 0
  flushes = 0
  readonly flushIsDue = () => this.isDue
  readonly beginFlush = () => {
    if (this.left > 0) return
    this.flushes += 1
    this.left = 3
    this.isDue = false
  }
  readonly flush = () => {
    if (this.failures-- > 0) throw new Error("full")
    this.left = Math.max(0, this.left - 1)
    return this.left > 0
  }
  readonly compact = () => false
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const turns = async (count: number) => {
  for (let at = 0; at < count; at++) await turn()
}

test("a flush that is due proceeds step by step, one per turn of the event loop", async () => {
  const table = new FakeTable()
  const upkeep = new CompactionScheduler(table)
  upkeep.scheduleFlush()
  await turns(3)
  expect(table.flushes).toBe(0)
  table.isDue = true
  upkeep.scheduleFlush()
  upkeep.scheduleFlush()
  const seen: number[] = []
  for (let at = 0; at < 4; at++) {
    await turn()
    seen.push(table.left)
  }
  expect([table.flushes, seen]).toEqual([1, [2, 1, 0, 0]])
})

test("a failed flush continues when it is due again", async () => {
  const table = new FakeTable()
  const upkeep = new CompactionScheduler(table)
  table.isDue = true
  table.failures = 1
  upkeep.scheduleFlush()
  await turns(4)
  expect(table.left).toBe(3)
  table.isDue = true
  upkeep.scheduleFlush()
  await turns(4)
  expect([table.flushes, table.left]).toEqual([1, 0])
})

test("flushing everything includes a flush in progress and later entries", async () => {
  const table = new FakeTable()
  table.left = 2
  await new CompactionScheduler(table).flushAll()
  expect([table.flushes, table.left]).toEqual([1, 0])
})
