import { expect, test } from "bun:test"
import { Deadlines } from "../transport/deadlines.ts"
import { readBody } from "./body.ts"
import { BodyBudget, BodyShare } from "./body-budget.ts"

const LIMIT = 1024 * 1024
const deadlines = new Deadlines()

function announced(bytes: number): Request {
  const headers = { "content-type": "application/json", "content-length": String(bytes) }
  return new Request("http://gateway/", { method: "POST", headers, body: "x".repeat(bytes) })
}

/** In pieces of 10,000 bytes. */
function unannounced(bytes: number): Request {
  let left = bytes
  const body = new ReadableStream({
    pull(controller) {
      const piece = Math.min(left, 10_000)
      controller.enqueue(new Uint8Array(piece).fill(left % 256))
      left -= piece
      if (left === 0) controller.close()
    },
  })
  return new Request("http://gateway/", { method: "POST", headers: { "content-type": "application/json" }, body })
}

function read(request: Request, budget: BodyBudget) {
  const share = new BodyShare(budget)
  return { share, reading: (async () => readBody(request, { limit: LIMIT, share, deadlines }))() }
}

test.each([
  ["announced", announced],
  ["unannounced", unannounced],
])("an %s body counts twice while it is read, then once, until its share is given back", async (_, request) => {
  const budget = new BodyBudget(200_000)
  const { share, reading } = read(request(95_000), budget)
  const bytes = await reading
  expect(Buffer.from(bytes).equals(Buffer.from(await new Response(request(95_000).body).arrayBuffer()))).toBe(true)
  expect(budget.inUse).toBe(190_000)
  share.shrink()
  expect(budget.inUse).toBe(95_000)
  share.giveBack()
  share.giveBack()
  expect(budget.inUse).toBe(0)
})

test("what does not fit beside the others is refused before it is read, and told when to come again", async () => {
  const budget = new BodyBudget(300_000)
  const first = read(announced(100_000), budget)
  const second = read(announced(100_000), budget)
  await expect(second.reading).rejects.toMatchObject({ code: "overloaded", status: 503, retryAfterMs: 1000 })
  second.share.giveBack()
  await first.reading
  expect(budget.inUse).toBe(200_000)
})

test("an unannounced body that outgrows the budget is refused, and its share can be given back", async () => {
  const budget = new BodyBudget(100_000)
  const { share, reading } = read(unannounced(100_000), budget)
  await expect(reading).rejects.toMatchObject({ code: "overloaded" })
  share.giveBack()
  expect(budget.inUse).toBe(0)
})

test("small bodies are not counted", async () => {
  const { reading } = read(announced(64 * 1024), new BodyBudget(0))
  expect((await reading).byteLength).toBe(64 * 1024)
})

test("an unannounced body beyond the limit is refused", async () => {
  const { reading } = read(unannounced(LIMIT + 1), new BodyBudget(10 * LIMIT))
  await expect(reading).rejects.toMatchObject({ code: "body_too_large" })
})
