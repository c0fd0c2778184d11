import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { DecayedMean, DecayedPercentiles } from "./decayed-statistics.ts"

const halfLife = { ms: 60_000, samples: 50 }

/** The exact percentile of weighted samples. */
function exactPercentile(share: number, samples: readonly { ms: number; weight: number }[]): number {
  const sorted = samples.toSorted((one, other) => one.ms - other.ms)
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0)
  let seen = 0
  for (const { ms, weight } of sorted) {
    seen += weight
    if (seen >= total * share) return ms
  }
  return 0
}

describe("decayed percentiles", () => {
  test("decayed percentiles are within 5 % of the exact ones for any samples", () => {
    const sample = fc.record({ ms: fc.double({ min: 1, max: 1_500_000, noNaN: true }), afterMs: fc.nat(90_000) })
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 400 }), (samples) => {
        const percentiles = new DecayedPercentiles(halfLife)
        let now = 0
        const at = samples.map(({ ms, afterMs }) => {
          now += afterMs
          percentiles.add(ms, now)
          return { ms, now }
        })
        const weighted = at.map(({ ms, now: then }, index) => ({
          ms,
          weight: 2 ** -((now - then) / halfLife.ms + (at.length - 1 - index) / halfLife.samples),
        }))
        // If the exact value lies between two samples with equal weight on each side, either is correct.
        for (const [share, found = 0] of [
          [0.5, percentiles.p50],
          [0.9, percentiles.p90],
        ] as const) {
          const low = exactPercentile(share - 1e-4, weighted) / 1.05
          const high = exactPercentile(share + 1e-4, weighted) * 1.05
          expect(found).toBeGreaterThanOrEqual(low)
          expect(found).toBeLessThanOrEqual(high)
        }
      }),
    )
  })

  test("decayed percentiles follow a change within one half-life of samples", () => {
    const percentiles = new DecayedPercentiles(halfLife)
    for (let each = 0; each < 10_000; each++) percentiles.add(100, each)
    for (let each = 0; each < 51; each++) percentiles.add(1000, 10_000 + each)
    expect(percentiles.p50).toBeWithin(950, 1050)
  })

  test("decayed percentiles report the number of samples that still count", () => {
    const percentiles = new DecayedPercentiles(halfLife)
    expect(percentiles.samplesAt(0)).toBe(0)
    expect(percentiles.p50).toBeUndefined()
    for (let each = 0; each < 8; each++) percentiles.add(100, 1000)
    expect(percentiles.samplesAt(1000)).toBeWithin(7, 8)
    expect(percentiles.samplesAt(61_000)).toBeWithin(3.5, 4)
    expect(percentiles.samplesAt(1e12)).toBe(0)
    percentiles.add(700, 1e12)
    expect(percentiles.p50).toBeWithin(665, 735)
    expect(percentiles.samplesAt(1e12)).toBeWithin(0.99, 1.01)
  })

  test("decayed percentiles accept values below a millisecond and above half an hour", () => {
    const percentiles = new DecayedPercentiles(halfLife)
    percentiles.add(0, 0)
    expect(percentiles.p50).toBeLessThan(1.1)
    for (let each = 0; each < 99; each++) percentiles.add(1e9, 0)
    expect(percentiles.p50).toBeGreaterThan(1_700_000)
  })
})

test("a decayed mean is the mean of its samples, weighted by their freshness", () => {
  const sample = fc.record({ value: fc.nat(1000), afterMs: fc.nat(90_000) })
  fc.assert(
    fc.property(fc.array(sample, { minLength: 1, maxLength: 100 }), (samples) => {
      const mean = new DecayedMean(halfLife)
      let now = 0
      let sum = 0
      let weight = 0
      for (const { value, afterMs } of samples) {
        now += afterMs
        const decay = 2 ** -(afterMs / halfLife.ms + 1 / halfLife.samples)
        sum = sum * decay + value
        weight = weight * decay + 1
        mean.add(value, now)
      }
      expect(mean.value).toBeCloseTo(sum / weight, 6)
      expect(mean.samplesAt(now + halfLife.ms)).toBeCloseTo(weight / 2, 6)
    }),
  )
})
