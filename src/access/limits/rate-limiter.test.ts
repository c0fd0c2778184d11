import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { RateBucket } from "./rate-bucket.ts"
import { type LimitedCaller, RateLimiter } from "./rate-limiter.ts"

const MINUTE = 60_000

function caller(limits: Partial<LimitedCaller> = {}): LimitedCaller {
  const unlimited = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null, tenantGrant: null }
  return { id: "key_1", tenant: "acme", ...unlimited, ...limits }
}

function tenant(limits: Partial<NonNullable<LimitedCaller["tenantGrant"]>>): LimitedCaller["tenantGrant"] {
  const unlimited = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null }
  return { models: null, protocols: null, strict: false, budgets: {}, ...unlimited, ...limits }
}

function refusal(act: () => void): GatewayError | undefined {
  try {
    act()
    return undefined
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
}

const limit = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 1_000_000_000 }))
const gaps = fc.array(fc.oneof(fc.nat(20), fc.nat(2 * MINUTE)), { minLength: 1, maxLength: 200 })

describe("a bucket", () => {
  test("a bucket never gives more than its limit plus the refill, in any window", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), gaps, (perMinute, waits) => {
        const bucket = new RateBucket(perMinute, 0)
        const given: number[] = []
        let now = 0
        for (const wait of waits) {
          now += wait
          for (let burst = 0; burst < 60 && bucket.waitMs(1, now) === 0; burst++) {
            bucket.draw(1, now)
            given.push(now)
          }
        }
        for (let from = 0; from < given.length; from++) {
          for (let to = from; to < given.length; to++) {
            const window = (given[to] ?? 0) - (given[from] ?? 0)
            // In integers: count ≤ limit + limit · window / minute.
            expect((to - from + 1) * MINUTE).toBeLessThanOrEqual(perMinute * (MINUTE + window))
          }
        }
      }),
      { numRuns: 30 },
    )
  })

  test("a bucket never refuses steady requests below its rate", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat(1000), (perMinute, late) => {
        const bucket = new RateBucket(perMinute, 0)
        const gap = Math.ceil(MINUTE / perMinute)
        for (let now = late, requests = 0; requests < 2000; now += gap, requests++) {
          expect(bucket.waitMs(1, now)).toBe(0)
          bucket.draw(1, now)
        }
      }),
      { numRuns: 30 },
    )
  })

  test("a bucket is exact over a year of fractions that are inexact in binary", () => {
    const bucket = new RateBucket(7, 0)
    bucket.draw(7, 0)
    let drawn = 0
    let now = 0
    for (let step = 0; step < 1_000_000; step++) {
      now += 1 + ((step * 7919) % 30_000)
      while (bucket.waitMs(1, now) === 0 && bucket.remaining(now) < 7) {
        bucket.draw(1, now)
        drawn++
      }
      if (bucket.remaining(now) === 7) break
    }
    expect(drawn).toBe(Math.floor((7 * now) / MINUTE))
  })

  test("a bucket's remainder, wait and reset time are exact to the millisecond", () => {
    fc.assert(
      fc.property(limit, fc.nat(1_000_000_000), fc.nat(MINUTE), fc.nat(), (perMinute, used, elapsed, wanted) => {
        const bucket = new RateBucket(perMinute, 0)
        bucket.draw(used, 0)
        const remaining = bucket.remaining(elapsed)
        if (remaining > 0) expect(bucket.waitMs(remaining, elapsed)).toBe(0)
        if (remaining < perMinute) expect(bucket.waitMs(remaining + 1, elapsed)).toBeGreaterThan(0)
        const wait = bucket.waitMs(wanted, elapsed)
        if (wait > 0) expect(bucket.waitMs(wanted, elapsed + wait - 1)).toBe(1)
        expect(bucket.waitMs(wanted, elapsed + wait)).toBe(0)
        const again = new RateBucket(perMinute, 0)
        again.draw(used, 0)
        const reset = again.resetMs(elapsed)
        if (reset > 0) expect(again.resetMs(elapsed + reset - 1)).toBe(1)
        expect(again.remaining(elapsed + reset)).toBe(perMinute)
      }),
    )
  })

  test("a clock that steps back refills nothing, and the bucket continues from there", () => {
    fc.assert(
      fc.property(limit, fc.nat(1_000_000), fc.nat(10_000_000), (perMinute, used, back) => {
        const bucket = new RateBucket(perMinute, 20_000_000)
        bucket.draw(used, 20_000_000)
        const before = bucket.resetMs(20_000_000)
        expect(bucket.resetMs(20_000_000 - back)).toBe(before)
        expect(bucket.resetMs(20_000_000 - back + 1)).toBe(Math.max(0, before - 1))
      }),
    )
  })

  test("a bucket with a new limit keeps its debt, and adds an increase at once", () => {
    const bucket = new RateBucket(100, 0)
    bucket.draw(40, 0)
    bucket.setLimit(150, 0)
    expect(bucket.remaining(0)).toBe(110)
    bucket.setLimit(10, 0)
    expect(bucket.remaining(0)).toBe(0)
    expect(bucket.waitMs(1, 0)).toBe(6000)
    bucket.draw(5, 0)
    bucket.setLimit(1000, 0)
    expect(bucket.remaining(0)).toBe(985)
  })
})

describe("an allowance", () => {
  test("a key without a limit of its own may send 600 requests a minute, or the gateway's default", () => {
    const statusOf = (limits: RateLimiter) => limits.allowanceOf(caller()).status()
    expect(statusOf(new RateLimiter({ now: () => 0 }))).toEqual({
      requests: { limit: 600, remaining: 600, resetMs: 0 },
      tokens: undefined,
    })
    let requestsPerMinute = 5
    const limits = new RateLimiter({ now: () => 0, requestsPerMinute: () => requestsPerMinute })
    expect(statusOf(limits).requests).toMatchObject({ limit: 5 })
    requestsPerMinute = 6
    expect(statusOf(limits).requests).toMatchObject({ limit: 6, remaining: 6 })
  })

  test("a refused request counts nothing, and reports when to retry", () => {
    let now = 0
    const limits = new RateLimiter({ now: () => now })
    const take = () => limits.allowanceOf(caller({ requestsPerMinute: 2 })).take()
    take()
    now = 0.9
    take()
    for (let again = 0; again < 5; again++) {
      expect(refusal(take)).toMatchObject({ code: "rate_limit_exceeded", retryAfterMs: 30_000, mayRetry: true })
    }
    now = 30_000
    take()
    expect(refusal(take)).toBeDefined()
  })

  test("an allowance belongs to one key, unless its tenant is limited too", () => {
    const limits = new RateLimiter({ now: () => 0 })
    const allowance = (id: string, tenantGrant: LimitedCaller["tenantGrant"]) =>
      limits.allowanceOf(caller({ id, requestsPerMinute: 3, tenantGrant }))
    for (const id of ["a", "b"]) for (let n = 0; n < 3; n++) allowance(id, null).take()
    const shared = tenant({ requestsPerMinute: 4 })
    for (let n = 0; n < 3; n++) allowance("c", shared).take()
    expect(allowance("d", shared).status().requests).toMatchObject({ limit: 4, remaining: 1 })
    allowance("d", shared).take()
    expect(refusal(() => allowance("d", shared).take())?.message).toContain("tenant")
    // A request that the tenant's limit refuses does not count against the key.
    expect(allowance("d", null).status().requests).toMatchObject({ limit: 3, remaining: 2 })
  })

  test("tokens are reserved, then corrected to the usage, even below zero", () => {
    let now = 0
    const limits = new RateLimiter({ now: () => now })
    const allowance = limits.allowanceOf(
      caller({ tokensPerMinute: 1000, tenantGrant: tenant({ tokensPerMinute: 1500 }) }),
    )
    const remaining = () => allowance.status().tokens?.remaining
    allowance.reserve(600)
    expect(remaining()).toBe(400)
    expect(refusal(() => allowance.reserve(401))).toMatchObject({ code: "rate_limit_exceeded", retryAfterMs: 60 })
    allowance.correct(600, 100)
    expect(remaining()).toBe(900)
    allowance.reserve(900)
    allowance.correct(900, 1900)
    expect(remaining()).toBe(0)
    expect(allowance.status().tokens?.resetMs).toBe(2 * MINUTE)
    now = 2 * MINUTE
    expect(remaining()).toBe(1000)
  })

  test("a request above the token limit is admitted if nothing else was used, and paid off later", () => {
    let now = 0
    const limits = new RateLimiter({ now: () => now })
    const allowance = limits.allowanceOf(caller({ tokensPerMinute: 1000 }))
    allowance.reserve(3000)
    expect(refusal(() => allowance.reserve(1))?.retryAfterMs).toBe(2 * MINUTE + 60)
    now = 3 * MINUTE - 1
    expect(refusal(() => allowance.reserve(3000))?.retryAfterMs).toBe(1)
    now++
    allowance.reserve(3000)
  })

  test("tokens are not counted when neither the key nor the tenant has a token limit", () => {
    const allowance = new RateLimiter({ now: () => 0 }).allowanceOf(caller())
    allowance.reserve(1e9)
    allowance.correct(1e9, 2e9)
    expect(allowance.status().tokens).toBeUndefined()
  })

  test("concurrent calls are capped by the key and its tenant, and each slot is released once", () => {
    const limits = new RateLimiter({ now: () => 0 })
    const allowance = (id: string) =>
      limits.allowanceOf(caller({ id, concurrentRequests: 2, tenantGrant: tenant({ concurrentRequests: 3 }) }))
    const [first] = ["a", "a", "b"].map((id) => {
      const each = allowance(id)
      each.enter()
      return each
    })
    expect(refusal(() => allowance("a").enter())).toMatchObject({ code: "concurrency_limit_exceeded" })
    expect(refusal(() => allowance("b").enter())?.message).toContain("tenant")
    for (let n = 0; n < 3; n++) first?.leave()
    expect(allowance("a").concurrent()).toEqual({ limit: 2, running: 1 })
    allowance("b").enter()
    expect(refusal(() => allowance("a").enter())?.message).toContain("tenant")
    const refused = allowance("a")
    refusal(() => refused.enter())
    refused.leave()
    expect(allowance("a").concurrent()).toEqual({ limit: 3, running: 3 })
  })
})

describe("idle meters", () => {
  test("the number of idle meters stays bounded after a million keys", () => {
    let now = 0
    const limits = new RateLimiter({ now: () => now })
    let most = 0
    for (let n = 0; n < 1_000_000; n++) {
      now += 0.1
      limits.allowanceOf(caller({ id: `key_${n}`, tenant: `tenant ${n}` })).take()
      most = Math.max(most, limits.size)
    }
    // 16,384 meters each for keys and tenants, and at 10,000 requests a second those of the last 100 ms, which are not
    // idle yet.
    expect(most).toBeLessThan(2 * 18_000)
  })

  test("idle meters are evicted even if all keys came at once and only one remains", () => {
    let now = 0
    const limits = new RateLimiter({ now: () => now })
    for (let n = 0; n < 100_000; n++) limits.allowanceOf(caller({ id: `key_${n}` })).take()
    expect(limits.size).toBe(100_001)
    now += MINUTE
    for (let n = 0; n < 10_000; n++) limits.allowanceOf(caller({ id: "key_1" })).status()
    expect(limits.size).toBeLessThan(17_000)
  })

  test("meters with a running call or a debt are never evicted", () => {
    let now = 0
    const limits = new RateLimiter({ now: () => now, maxIdleMeters: 0 })
    const slow = caller({ id: "slow", concurrentRequests: 1 })
    const poor = caller({ id: "poor", requestsPerMinute: 1, tokensPerMinute: 10 })
    const running = limits.allowanceOf(slow)
    running.enter()
    limits.allowanceOf(poor).reserve(40)
    now = 3 * MINUTE
    for (let n = 0; n < 1000; n++) limits.allowanceOf(caller({ id: `key_${n}` }))
    expect(refusal(() => limits.allowanceOf(slow).enter())).toBeDefined()
    expect(limits.allowanceOf(poor).status().tokens?.resetMs).toBe(MINUTE)
    running.leave()
    expect(refusal(() => limits.allowanceOf(slow).enter())).toBeUndefined()
  })
})

/** A reference implementation: a list of all draws and a clock. */
class ReferenceBucket {
  private readonly levels = new Map<string, { level: number; at: number }>()

  wait(name: string, perMinute: number, amount: number, now: number): number {
    const level = this.level(name, perMinute, now)
    const needed = Math.min(amount, perMinute) * MINUTE
    return level >= needed ? 0 : Math.ceil((needed - level) / perMinute)
  }

  draw(name: string, perMinute: number, amount: number, now: number): void {
    const level = Math.min(perMinute * MINUTE, this.level(name, perMinute, now) - amount * MINUTE)
    this.levels.set(name, { level, at: now })
  }

  private level(name: string, perMinute: number, now: number): number {
    const { level, at } = this.levels.get(name) ?? { level: perMinute * MINUTE, at: now }
    return Math.min(perMinute * MINUTE, level + (now - at) * perMinute)
  }
}

const step = fc.record({
  key: fc.integer({ min: 0, max: 3 }),
  wait: fc.oneof(fc.constant(0), fc.nat(3000), fc.nat(3 * MINUTE)),
  does: fc.constantFrom("take", "reserve", "correct"),
  amount: fc.nat(80),
  used: fc.nat(80),
})

test("any sequence of calls by keys of two tenants matches the reference", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      let now = 0
      const limits = new RateLimiter({ now: () => now, maxIdleMeters: 0 })
      const model = new ReferenceBucket()
      for (const { key, wait, does, amount, used } of steps) {
        now += wait
        const [own, shared] = does === "take" ? [5 + key, 8] : [50 + key, 70]
        const whose = `tenant ${key % 2}`
        const what = does === "take" ? "requests" : "tokens"
        const both = [
          [`${key} ${what}`, own],
          [`${whose} ${what}`, shared],
        ] as const
        const allowance = limits.allowanceOf({
          ...caller({ id: `key ${key}`, tenant: whose, requestsPerMinute: 5 + key, tokensPerMinute: 50 + key }),
          tenantGrant: tenant({ requestsPerMinute: 8, tokensPerMinute: 70 }),
        })
        if (does === "correct") {
          allowance.correct(amount, used)
          for (const [name, perMinute] of both) model.draw(name, perMinute, used - amount, now)
          continue
        }
        const drawn = does === "take" ? 1 : amount
        const expected = Math.max(...both.map(([name, perMinute]) => model.wait(name, perMinute, drawn, now)))
        const refused = refusal(() => (does === "take" ? allowance.take() : allowance.reserve(amount)))
        expect(refused?.retryAfterMs ?? 0).toBe(expected)
        if (!refused) for (const [name, perMinute] of both) model.draw(name, perMinute, drawn, now)
      }
    }),
    { numRuns: 200 },
  )
})

test("a caller without limits is not counted, and has no limit status", () => {
  const limits = new RateLimiter({ requestsPerMinute: () => null })
  const allowance = limits.allowanceOf(caller())
  for (let requests = 0; requests < 1000; requests++) {
    allowance.take()
    allowance.reserve(1_000_000)
    allowance.enter()
  }
  expect(allowance.status()).toEqual({ requests: undefined, tokens: undefined })
  expect(allowance.concurrent()).toBeUndefined()
  expect(limits.size).toBe(0)
  expect(limits.allowanceOf(caller({ requestsPerMinute: 2 })).status().requests?.limit).toBe(2)
})
