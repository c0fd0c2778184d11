// The value of routing over a day with failing providers, compared with an oracle.
import { describe, expect, test } from "bun:test"
import type { RoutingStrategy } from "../../src/canonical/chat/chat-request.ts"
import { median, RoutingSimulation } from "./simulation.ts"

const REQUESTS = 10_000
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
const WARM_UP = 500

interface PolicyWorth {
  /** Cost and median time to the first token, relative to the oracle's. */
  readonly cost: number
  readonly latency: number
  /** The answered share of the requests that some provider could have answered. */
  readonly availability: number
  /** The unanswered share of all requests. */
  readonly unanswered: number
}

function simulate(strategy: RoutingStrategy | undefined, seed: number): PolicyWorth {
  const { results } = new RoutingSimulation(strategy, { seed, requests: REQUESTS })
  const could = results.filter(({ best }) => best !== undefined)
  const answered = could.filter(({ provider }) => provider !== undefined)
  const sum = (of: (result: (typeof results)[number]) => number) =>
    answered.reduce((total, each) => total + of(each), 0)
  const warm = answered.slice(WARM_UP)
  return {
    cost: sum(({ cost }) => cost) / sum(({ best }) => best?.cost ?? 0),
    latency: median(warm.map((each) => each.firstTokenMs)) / median(warm.map(({ best }) => best?.firstTokenMs ?? 0)),
    availability: answered.length / could.length,
    unanswered: results.filter(({ provider }) => provider === undefined).length / results.length,
  }
}

describe.each(SEEDS)("ten thousand requests, seed %p", (seed) => {
  test("routing by cost is within 2 % of the lowest possible cost", () => {
    const { cost, availability } = simulate("cost", seed)
    expect(cost).toBeLessThan(1.02)
    expect(availability).toBeGreaterThanOrEqual(0.999)
  })

  test("routing by latency is within 10 % of the lowest possible median", () => {
    const { latency, availability } = simulate("latency", seed)
    expect(latency).toBeLessThan(1.1)
    expect(availability).toBeGreaterThanOrEqual(0.999)
  })

  test("routing by quality and by default answers as reliably", () => {
    expect(simulate("quality", seed).availability).toBeGreaterThanOrEqual(0.999)
    expect(simulate(undefined, seed).availability).toBeGreaterThanOrEqual(0.999)
  })
})

test("random routing costs a fifth more and takes a third longer", () => {
  const { cost, latency } = simulate(undefined, 1)
  expect(cost).toBeGreaterThan(1.2)
  expect(latency).toBeGreaterThan(1.33)
})

test("requests fail only while no provider answers", () => {
  const { unanswered } = simulate("cost", 1)
  expect(unanswered).toBeWithin(0.004, 0.01)
})

test("the same seed gives the same results", () => {
  expect(simulate("latency", 4)).toEqual(simulate("latency", 4))
})
