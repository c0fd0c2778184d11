import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../canonical/gateway-error.ts"
import { DeadlineTimer } from "../transport/deadline-timer.ts"
import { BodyBudget, type BodyShare } from "./body-budget.ts"
import { bodySource, readBody } from "./read-body.ts"

const LIMIT = 1024 * 1024
const deadlines = new DeadlineTimer()

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

/** A body that arrives as the test sends it. */
function dripping(announcedBytes?: number) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
    },
  })
  const length = announcedBytes === undefined ? {} : { "content-length": String(announcedBytes) }
  const headers = { "content-type": "application/json", ...length }
  const request = new Request("http://gateway/", { method: "POST", headers, body })
  const send = async (bytes: number) => {
    controller?.enqueue(new Uint8Array(bytes))
    await Bun.sleep(1)
  }
  return { request, send, end: () => controller?.close() }
}

function read(request: Request, budget: BodyBudget, { key = "a", limit = LIMIT } = {}) {
  const shares: BodyShare[] = []
  const openShare = () => {
    const share = budget.open(key)
    shares.push(share)
    return share
  }
  const reading = (async () => readBody(bodySource(request), { limit, deadlines, openShare }))()
  reading.catch(() => {})
  const share = {
    shrink: () => shares[0]?.shrink(),
    giveBack: () => shares[0]?.giveBack(),
  }
  return { share, reading }
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

test("an announced body counts only the bytes that have arrived", async () => {
  const budget = new BodyBudget(4_000_000)
  const { request, send, end } = dripping(1_000_000)
  const { reading } = read(request, budget)
  await send(70_000)
  expect(budget.inUse).toBe(140_000)
  await send(930_000)
  end()
  expect((await reading).byteLength).toBe(1_000_000)
  expect(budget.inUse).toBe(2_000_000)
})

test("a body that exceeds the key's budget together with its other announced bodies is rejected before a byte is read", async () => {
  const budget = new BodyBudget(300_000)
  const first = read(dripping(100_000).request, budget)
  const second = read(announced(100_000), budget)
  await expect(second.reading).rejects.toMatchObject({ code: "overloaded", status: 503, retryAfterMs: 1000 })
  second.share.giveBack()
  expect(budget.inUse).toBe(0)
  first.share.giveBack()
  await read(announced(100_000), budget).reading
})

test("an announced body of one key takes no budget from another key", async () => {
  const budget = new BodyBudget(300_000)
  read(dripping(150_000).request, budget, { key: "greedy" })
  const { reading } = read(announced(149_000), budget, { key: "other" })
  expect((await reading).byteLength).toBe(149_000)
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

describe("arriving bodies of one key that fill the budget", () => {
  async function filled() {
    let refusals = 0
    const budget = new BodyBudget(1_000_000, { onFull: () => refusals++ })
    const small = dripping()
    const large = dripping()
    const greedy = [small, large].map(({ request }) => read(request, budget, { key: "greedy" }))
    await small.send(100_000)
    await large.send(400_000)
    expect(budget.inUse).toBe(1_000_000)
    return { budget, greedy, small, large, refusals: () => refusals }
  }

  test("another key within its share displaces the largest arriving body, which ends in 503", async () => {
    const { budget, greedy, small, refusals } = await filled()
    const other = read(announced(100_000), budget, { key: "other" })
    expect((await other.reading).byteLength).toBe(100_000)
    await expect(greedy[1]?.reading).rejects.toMatchObject({ code: "overloaded", status: 503, retryAfterMs: 1000 })
    expect(refusals()).toBe(1)
    small.end()
    expect((await greedy[0]?.reading)?.byteLength).toBe(100_000)
  })

  test("the key that filled the budget gets no more of it", async () => {
    const { greedy, small, large } = await filled()
    await small.send(10)
    await expect(greedy[0]?.reading).rejects.toMatchObject({ code: "overloaded" })
    large.end()
    expect((await greedy[1]?.reading)?.byteLength).toBe(400_000)
  })

  test("another key gets its fair share of a full budget and no more", async () => {
    const { budget, small, greedy } = await filled()
    const other = read(unannounced(LIMIT), budget, { key: "other" })
    await expect(other.reading).rejects.toMatchObject({ code: "overloaded" })
    await expect(greedy[1]?.reading).rejects.toMatchObject({ code: "overloaded" })
    small.end()
    expect((await greedy[0]?.reading)?.byteLength).toBe(100_000)
  })

  test("bodies that have arrived are not displaced", async () => {
    const { budget, greedy, small, large } = await filled()
    small.end()
    large.end()
    await Promise.all(greedy.map(({ reading }) => reading))
    const other = read(announced(100_000), budget, { key: "other" })
    await expect(other.reading).rejects.toMatchObject({ code: "overloaded" })
  })
})

test("the budget is never exceeded, nothing is lost, and a key within its share is refused only for arrived bodies", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    body: fc.nat(5),
    act: fc.constantFrom("grow", "grow", "grow", "arrived", "shrink", "end"),
    bytes: fc.integer({ min: 1, max: 300 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const limit = 1000
      const budget = new BodyBudget(limit)
      const open = new Map<string, { share: BodyShare; length: number; arrived: boolean }>()
      const heldBy = (key: string) => sum([...open].filter(([name]) => name.startsWith(key)).map(([, each]) => each))
      const sum = (all: { share: BodyShare }[]) => all.reduce((total, { share }) => total + share.bytes, 0)
      for (const { key, body, act, bytes } of steps) {
        const name = `${key}${body}`
        const known = open.get(name)
        if (act === "grow" && !known?.arrived) {
          const state = known ?? { share: budget.open(key), length: 0, arrived: false }
          if (!known) state.share.arriving(() => open.delete(name))
          open.set(name, state)
          const before = heldBy(key)
          const wanted = 2 * (state.length + bytes) - state.share.bytes
          try {
            state.share.growTo(state.length + bytes)
            state.length += bytes
          } catch (thrown) {
            if (!(thrown instanceof GatewayError)) throw thrown
            const holding = new Set([key, ...[...open].filter(([, each]) => each.share.bytes > 0).map(([at]) => at[0])])
            const fairShare = limit / holding.size
            const arriving = [...open].filter(([at, each]) => !each.arrived && heldBy(at[0] ?? "") > fairShare)
            expect(before + wanted > fairShare || arriving.length === 0).toBe(true)
            state.share.giveBack()
            open.delete(name)
          }
        } else if (known && act === "end") {
          known.share.giveBack()
          open.delete(name)
        } else if (known && act === "arrived") {
          known.share.arrived()
          known.arrived = true
        }
        expect(budget.inUse).toBe(sum([...open.values()]))
        expect(budget.inUse).toBeLessThanOrEqual(limit)
      }
      for (const { share } of open.values()) share.giveBack()
      expect(budget.inUse).toBe(0)
    }),
    { numRuns: 300 },
  )
})
