import { expect, spyOn, test } from "bun:test"
import { TokenPace } from "../../src/simulator/playback/token-pace.ts"
import { createSimulator } from "../../src/simulator/simulator.ts"
import { Abort } from "../../src/transport/abort.ts"
import { readStream, simulated } from "./simulated-call.ts"
import { SIMULATED_PROTOCOLS } from "./simulated-protocols.ts"

const [{ stream: chat, whole: unary }] = SIMULATED_PROTOCOLS as [(typeof SIMULATED_PROTOCOLS)[number]]
const tenWords = { ...chat, body: { ...chat.body, max_tokens: 10 } }

/** When each event of the answer came, in milliseconds after the question. */
async function arrivals(words: string | undefined, send = createSimulator()): Promise<number[]> {
  const begun = performance.now()
  const response = await simulated(tenWords, { send, ...(words !== undefined && { words }) })
  const times: number[] = []
  for await (const _ of response.body ?? []) times.push(performance.now() - begun)
  return times
}

/** The delays of the timers that a call sets. */
async function delaysDuring(call: () => Promise<unknown>): Promise<number[]> {
  using timers = spyOn(globalThis, "setTimeout")
  await call()
  return timers.mock.calls.flatMap(([, ms = 0]) => (ms > 0 ? [ms] : []))
}

test("answers are instant by default", async () => {
  expect(await delaysDuring(() => arrivals(undefined))).toEqual([])
})

test("the opening event is sent at once, the first token after its delay, the others at their rate", async () => {
  const times = await arrivals("first-token-ms-1000.tokens-per-second-50")
  expect(times[0]).toBeLessThan(times[1] ?? 0)
  expect(times[1]).toBeGreaterThan(990)
  // Nine tokens after the first take 180 ms, whenever each was noticed.
  expect(times[10]).toBeGreaterThan(1170)
})

test("a whole answer takes as long as the stream would", async () => {
  const begun = performance.now()
  await simulated(
    { ...unary, body: { ...unary.body, max_tokens: 10 } },
    { words: "first-token-ms-50.tokens-per-second-100" },
  )
  expect(performance.now() - begun).toBeGreaterThan(135)
})

test("a slow simulator is slow, and a request may set another speed", async () => {
  const send = createSimulator({ speed: { firstTokenMs: 120 } })
  expect((await arrivals(undefined, send))[1]).toBeGreaterThan(115)
  expect(await delaysDuring(() => arrivals("first-token-ms-0", send))).toEqual([])
})

test("an error is sent without the delay of tokens", async () => {
  expect(await delaysDuring(() => simulated(chat, { words: "status-503.first-token-ms-5000" }))).toEqual([])
})

test("a delay ends when the caller leaves", async () => {
  const abort = new Abort()
  const reason = new Error("gone")
  setTimeout(() => abort.abort(reason), 30)
  const { failure, chunks } = await readStream(await simulated(chat, { words: "first-token-ms-60000", abort }))
  expect(failure).toBe(reason)
  expect(chunks).toHaveLength(1)
})

test("jitter follows from the seed, stays within its bounds, and keeps the mean", () => {
  const speed = { firstTokenMs: 200, tokensPerSecond: 100, jitterPercent: 30 }
  const waits = (seed: string) => {
    const pace = new TokenPace(speed, seed)
    return Array.from({ length: 2000 }, () => pace.waitMs(1))
  }
  const [first = 0, ...others] = waits("seven")
  expect(waits("seven")).toEqual([first, ...others])
  expect(waits("eight")).not.toEqual([first, ...others])
  expect(first).toBeWithin(140, 260)
  expect(Math.min(...others)).toBeGreaterThanOrEqual(7)
  expect(Math.max(...others)).toBeLessThanOrEqual(13)
  expect(others.reduce((sum, wait) => sum + wait, 0) / others.length).toBeWithin(9.8, 10.2)
})
