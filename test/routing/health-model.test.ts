// The health of one target follows the plain rules through any sequence of events.
import { expect, test } from "bun:test"
import fc from "fast-check"
import { accountNamed, StagedHealth } from "../../src/routing/health-monitor.fixture.ts"

type HealthEvent =
  | { readonly name: "answers"; readonly afterMs: number }
  | { readonly name: "fails"; readonly afterMs: number }
  | { readonly name: "limits"; readonly afterMs: number; readonly retryAfterMs: number | undefined }

/** The rules of the fault table, with everything that ever happened written down. */
class ReferenceBreaker {
  private history: { readonly second: number; readonly failed: boolean }[] = []
  private inRow = 0
  private outUntil: number | undefined
  private cameInAt = 0
  private times = 0
  private failedTrials = 0

  takes(now: number): boolean {
    return this.outUntil === undefined || now >= this.outUntil
  }

  happens(event: HealthEvent, now: number): void {
    if (event.name === "answers") this.answers(now)
    else if (event.name === "fails") this.fails(now)
    else if (event.name === "limits") this.limits(event.retryAfterMs, now)
  }

  private answers(now: number): void {
    if (this.outUntil !== undefined) {
      this.history = []
      this.cameInAt = now
    }
    this.outUntil = undefined
    this.inRow = 0
    this.history.push({ second: Math.floor(now / 1000), failed: false })
  }

  private fails(now: number): void {
    this.history.push({ second: Math.floor(now / 1000), failed: true })
    if (this.outUntil !== undefined) {
      if (now >= this.outUntil && ++this.failedTrials === 2) this.goOut(now)
      return
    }
    this.inRow++
    const recent = this.history.filter(({ second }) => second > Math.floor(now / 1000) - 10)
    const failed = recent.filter((each) => each.failed).length
    if (this.inRow === 5 || (recent.length >= 20 && failed * 2 > recent.length)) this.goOut(now)
  }

  private limits(retryAfterMs: number | undefined, now: number): void {
    if (this.takes(now)) this.goOut(now, retryAfterMs)
    else if (retryAfterMs !== undefined) this.outUntil = Math.max(this.outUntil ?? 0, now + retryAfterMs)
  }

  private goOut(now: number, requestedMs?: number): void {
    const wasIn = this.outUntil === undefined
    const forgiven = wasIn ? Math.floor((now - this.cameInAt) / 30_000) : 0
    this.times = Math.max(0, this.times - forgiven) + 1
    this.outUntil = now + (requestedMs ?? Math.min(300_000, 15_000 * this.times))
    this.inRow = 0
    this.failedTrials = 0
  }
}

const afterMs = fc.constantFrom(0, 0, 10, 900, 4000, 14_000, 16_000, 31_000, 200_000)
const event: fc.Arbitrary<HealthEvent> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ name: fc.constant("answers" as const), afterMs }) },
  { weight: 6, arbitrary: fc.record({ name: fc.constant("fails" as const), afterMs }) },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constant("limits" as const),
      afterMs,
      retryAfterMs: fc.constantFrom(undefined, 0, 3000, 90_000),
    }),
  },
)

test("health follows the plain rules for any sequence of events", () => {
  const place = { account: accountNamed("one"), upstreamModel: "m" }
  let outs = 0
  fc.assert(
    fc.property(fc.array(event, { minLength: 40, maxLength: 150 }), (events) => {
      const stage = new StagedHealth()
      const reference = new ReferenceBreaker()
      for (const each of events) {
        stage.now += each.afterMs
        expect(stage.health.accepts(place)).toBe(reference.takes(stage.now))
        if (each.name === "answers") stage.answer(place)
        else if (each.name === "fails") stage.fail(place)
        else if (each.name === "limits") stage.fail(place, { failed: "limited", retryAfterMs: each.retryAfterMs })
        reference.happens(each, stage.now)
        expect(stage.health.accepts(place)).toBe(reference.takes(stage.now))
        if (!reference.takes(stage.now)) outs++
      }
    }),
    { numRuns: 500 },
  )
  expect(outs).toBeGreaterThan(1000)
})
