import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { allowsFallback, FAILURE_KINDS, type FailureKind } from "../../routing/failure-kind.ts"
import { accountsAt } from "../../routing/route-plan.fixture.ts"
import type { Target } from "../../routing/route-plan.ts"
import { type AttemptFailure, AttemptSchedule } from "./attempt-schedule.ts"

const [one, two, other] = [...accountsAt("a", { count: 2 }), ...accountsAt("b")]

const at = (account: Target["account"] | undefined, upstreamModel = "m") =>
  ({ account, upstreamModel, health: "in" }) as unknown as Target

interface StagedSchedule {
  readonly targets?: readonly Target[]
  readonly out?: readonly Target[]
  readonly failing?: readonly Target[]
  readonly budget?: number
  readonly limitMs?: number
}

/** A schedule with a random value of 0.5 and the given retry budget. */
function staged({ targets = [], out = [], failing = [], budget = 99, limitMs = 60_000 }: StagedSchedule) {
  const clock = { now: 0, taken: 0 }
  const course = new AttemptSchedule({
    targets,
    health: {
      accepts: (place) => !out.includes(place as Target),
      mostlyAnswers: (place) => !failing.includes(place as Target),
    },
    retries: { take: () => clock.taken < budget && ++clock.taken > 0 },
    chance: () => 0.5,
    limitMs,
    now: () => clock.now,
  })
  const fail = (failure: Partial<AttemptFailure> & { target: Target }) =>
    course.noteFailure({ kind: "server", tookMs: 10, ...failure })
  /** The targets tried, and the pauses, if every attempt fails in this way. */
  const walk = (failure: Partial<AttemptFailure> = {}) => {
    const steps: [Target, number][] = []
    for (let step = course.next(); step; step = course.next()) {
      clock.now += step.waitMs
      steps.push([step.target, step.waitMs])
      fail({ ...failure, target: step.target })
    }
    return steps
  }
  return { course, clock, fail, walk }
}

describe("another target", () => {
  test("another provider or another account is tried without a pause", () => {
    const targets = [at(one), at(two), at(other)]
    expect(staged({ targets }).walk({ kind: "credential" })).toEqual(targets.map((target) => [target, 0]))
  })

  test("a target that left rotation after planning is skipped, except the last one and last resorts", () => {
    const [first, second, last] = [at(one), at(two), at(other)]
    const targets = [first, second, last]
    expect(staged({ targets, out: [second, last] }).walk({ kind: "credential" })).toEqual([
      [first, 0],
      [last, 0],
    ])
    const resorts = targets.map((target) => ({ ...target, health: "out" as const }))
    expect(staged({ targets: resorts, out: resorts }).walk({ kind: "credential" })).toHaveLength(3)
  })

  test("another model at the same account is tried after a pause if the account failed, and at once if it rejected the request", () => {
    const targets = [at(one), at(one, "n"), at(one, "o")]
    expect(staged({ targets }).walk({ kind: "context" })).toEqual(targets.map((target) => [target, 0]))
    const waits = staged({ targets }).walk({ kind: "server", tookMs: 5000 })
    expect(waits.map(([, waitMs]) => waitMs)).toEqual([0, 125, 250])
  })
})

describe("the same target", () => {
  test("the same target is tried up to three times with doubling pauses, and eight attempts are made in all", () => {
    const targets = [at(one), at(other)]
    expect(
      staged({ targets })
        .walk()
        .map(([, waitMs]) => waitMs),
    ).toEqual([0, 0, 125, 125, 250, 250])
    const many = [at(one), at(two), at(other), at(other, "n")]
    expect(staged({ targets: many }).walk()).toHaveLength(8)
  })

  test("the same target is not retried if it is out of rotation, was slow, or would fail the same way", () => {
    const targets = [at(one), at(other)]
    expect(staged({ targets, out: targets.slice(0, 1) }).walk()).toHaveLength(3)
    expect(staged({ targets }).walk({ tookMs: 5000 })).toHaveLength(2)
    for (const kind of ["credential", "not-found", "context", "gateway"] as const) {
      expect(staged({ targets }).walk({ kind })).toHaveLength(2)
    }
  })

  test("a rate-limited target is retried only if it states a short wait", () => {
    const targets = [at(one)]
    const limited = { kind: "limited" as const }
    expect(staged({ targets, out: targets }).walk({ ...limited, retryAfterMs: 2000 })[1]).toEqual([at(one), 2125])
    expect(staged({ targets }).walk({ ...limited, retryAfterMs: 2001 })).toHaveLength(1)
    expect(staged({ targets }).walk(limited)).toHaveLength(1)
  })

  test("no retry starts after the time limit of the request", () => {
    const targets = [at(one), at(other)]
    expect(staged({ targets, limitMs: 124 }).walk()).toHaveLength(2)
    expect(staged({ targets, limitMs: 126 }).walk()).toHaveLength(3)
  })
})

describe("the retry budget", () => {
  test("the first attempt and the first fallback to a healthy target do not draw on the retry budget", () => {
    const targets = [at(one), at(other)]
    expect(staged({ targets, budget: 0 }).walk()).toHaveLength(2)
    expect(staged({ targets, budget: 0, failing: targets.slice(1) }).walk()).toHaveLength(1)
    expect(staged({ targets: [at(one), at(two), at(other)], budget: 0 }).walk()).toHaveLength(2)
  })

  test("every later attempt draws on the retry budget once", () => {
    const { walk, clock } = staged({ targets: [at(one), at(other)] })
    expect(walk()).toHaveLength(6)
    expect(clock.taken).toBe(4)
    expect(staged({ targets: [at(one), at(other)], budget: 2 }).walk()).toHaveLength(4)
  })
})

test("attempts are bounded for every kind of failure, and all but two draw on the retry budget", () => {
  const targets = [at(one), at(two), at(other), at(one, "n"), at(other, "n")]
  const kinds = FAILURE_KINDS.filter(allowsFallback)
  const failures = fc.array(
    fc.record({
      kind: fc.constantFrom<FailureKind[]>(...kinds),
      tookMs: fc.constantFrom(1, 4999, 5000, 60_000),
      retryAfterMs: fc.constantFrom(undefined, 0, 1500, 2000, 90_000),
    }),
    { minLength: 9, maxLength: 9 },
  )
  fc.assert(
    fc.property(
      failures,
      fc.subarray(targets, { minLength: 1 }),
      fc.subarray(targets),
      fc.nat(9),
      (ways, tries, out, budget) => {
        const { course, clock, fail } = staged({ targets: tries, out, budget })
        const tried: Target[] = []
        for (let step = course.next(); step; step = course.next()) {
          clock.now += step.waitMs
          expect(step.waitMs).toBeLessThanOrEqual(2000 + 4000)
          fail({ ...ways[tried.length], target: step.target })
          tried.push(step.target)
        }
        expect(tried.length).toBeWithin(1, 9)
        expect(tried.length).toBeLessThanOrEqual(2 + clock.taken)
        expect(clock.taken).toBeLessThanOrEqual(budget)
        for (const target of tries) expect(tried.filter((each) => each === target).length).toBeLessThanOrEqual(3)
      },
    ),
    { numRuns: 500 },
  )
})
