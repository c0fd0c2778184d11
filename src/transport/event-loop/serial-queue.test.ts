import { expect, test } from "bun:test"
import { SerialQueue } from "./serial-queue.ts"

test("tasks run one after the other in order of arrival, even after one that failed", async () => {
  const queue = new SerialQueue()
  const seen: string[] = []
  const task = (name: string) => async () => {
    seen.push(`${name} begins`)
    await Bun.sleep(5)
    seen.push(`${name} ends`)
    if (name === "b") throw new Error("b failed")
    return name
  }
  const results = await Promise.allSettled([queue.run(task("a")), queue.run(task("b")), queue.run(task("c"))])
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"])
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
})

test("the event loop turns between tasks", async () => {
  const queue = new SerialQueue()
  let turned = false
  setImmediate(() => {
    turned = true
  })
  const second = queue.run(async () => {}).then(() => queue.run(async () => turned))
  expect(await second).toBe(true)
})
