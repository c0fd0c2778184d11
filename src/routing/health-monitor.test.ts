import { beforeEach, describe, expect, test } from "bun:test"
import { FAILURE_KINDS } from "./failure-kind.ts"
import { accountNamed, StagedHealth } from "./health-monitor.fixture.ts"

const account = accountNamed("one")
const target = { account, upstreamModel: "m" }
const sibling = { account, upstreamModel: "other" }
const elsewhere = { account: accountNamed("two"), upstreamModel: "m" }

let stage: StagedHealth
beforeEach(() => {
  stage = new StagedHealth()
})

/** The time until it accepts requests again. */
function msUntilAccepted(at = target): number {
  const begun = stage.now
  while (!stage.health.accepts(at) && stage.now - begun < 4_000_000) stage.now += 100
  return stage.now - begun
}

describe("a target goes out", () => {
  test("a target goes out after five failures in a row, and no other target does", () => {
    stage.failTimes(4, target)
    expect(stage.health.accepts(target)).toBe(true)
    stage.fail(target)
    expect([target, sibling, elsewhere].map((each) => stage.health.accepts(each))).toEqual([false, true, true])
  })

  test("a target stays in use if an answer came between the failures", () => {
    for (let round = 0; round < 9; round++) {
      stage.failTimes(4, target)
      stage.answer(target)
      stage.now += 10_000
    }
    expect(stage.health.accepts(target)).toBe(true)
  })

  test("a target goes out when more than half of twenty attempts within ten seconds failed, and not for fewer or over longer", () => {
    const alternating = (failures: number, answers: number, everyMs: number) => {
      stage = new StagedHealth()
      for (let each = 0; each < Math.max(failures, answers); each++) {
        if (each < answers) stage.answer(target)
        if (each < failures) stage.fail(target)
        stage.now += everyMs
      }
      return stage.health.accepts(target)
    }
    expect(alternating(11, 10, 400)).toBe(false)
    expect(alternating(11, 9, 400)).toBe(false)
    expect(alternating(10, 10, 400)).toBe(true)
    expect(alternating(10, 9, 400)).toBe(true)
    expect(alternating(11, 10, 1200)).toBe(true)
  })

  test.each(FAILURE_KINDS.filter((kind) => ["connect", "timeout", "server", "not-found"].includes(kind)))(
    "%s counts against the target",
    (kind) => {
      for (let each = 0; each < 5; each++) stage.fail(target, kind)
      expect(stage.health.accepts(target)).toBe(false)
    },
  )

  test.each(["caller", "refusal", "context", "client-gone", "gateway", "stopping"] as const)(
    "%s does not count against the target, and does not end a series of failures",
    (kind) => {
      for (let each = 0; each < 99; each++) stage.fail(target, kind)
      expect(stage.health.accepts(target)).toBe(true)
      stage.failTimes(4, target)
      stage.fail(target, kind)
      stage.fail(target)
      expect(stage.health.accepts(target)).toBe(false)
    },
  )
})

describe("a target that is out", () => {
  beforeEach(() => stage.failTimes(5, target))

  test("a target that is out stays out for 15 s, plus or minus a tenth at random", () => {
    expect(msUntilAccepted()).toBe(15_000)
    for (const [chance, ms] of [
      [0, 13_500],
      [0.999, 16_500],
    ] as const) {
      stage = new StagedHealth()
      stage.chance = chance
      stage.failTimes(5, target)
      expect(msUntilAccepted()).toBe(ms)
    }
  })

  test("a target that is out is then probed by one request at a time", () => {
    stage.now += 15_000
    const first = stage.health.beginAttempt(target)
    expect(stage.health.accepts(target)).toBe(false)
    stage.health.endAttempt(first, { failed: "client-gone" })
    expect(stage.health.accepts(target)).toBe(true)
    stage.answer(target)
    stage.beginAttempt(9, target)
    expect(stage.health.accepts(target)).toBe(true)
  })

  test("a probe without a result does not block further probes", () => {
    stage.now += 15_000
    stage.health.beginAttempt(target)
    expect(msUntilAccepted()).toBe(60_000)
  })

  test("a target that is out is in again as soon as a stream begins, even if it takes long", () => {
    stage.now += 15_000
    const stream = stage.health.beginAttempt(target)
    stage.health.noteFirstToken(stream, 300)
    expect(stage.health.accepts(target)).toBe(true)
    stage.health.endAttempt(stream, { failed: "server" })
    expect(stage.health.accepts(target)).toBe(true)
  })

  test("a probed target may fail once, but neither fail twice nor time out", () => {
    stage.now += 15_000
    stage.fail(target)
    expect(stage.health.accepts(target)).toBe(true)
    stage.fail(target)
    expect(msUntilAccepted()).toBe(30_000)
    stage.fail(target, "timeout")
    expect(msUntilAccepted()).toBe(45_000)
  })

  test("a target that is out stays out 15 s longer with each further failure, up to 300 s", () => {
    const waits = []
    for (let round = 0; round < 25; round++) {
      waits.push(msUntilAccepted())
      stage.failTimes(2, target)
    }
    expect(waits.slice(0, 4)).toEqual([15_000, 30_000, 45_000, 60_000])
    expect(Math.max(...waits)).toBe(300_000)
    expect(waits.at(-1)).toBe(300_000)
  })

  test("a target that is out has one earlier outage forgiven for every 30 s that it was in", () => {
    const again = (afterMs: number) => {
      stage = new StagedHealth()
      stage.failTimes(5, target)
      for (let round = 0; round < 3; round++) {
        msUntilAccepted()
        stage.failTimes(2, target)
      }
      msUntilAccepted()
      stage.answer(target)
      stage.now += afterMs
      stage.failTimes(5, target)
      return msUntilAccepted()
    }
    expect([0, 29_999, 30_000, 60_000, 119_999, 120_000, 1e9].map(again)).toEqual([
      75_000, 75_000, 60_000, 45_000, 30_000, 15_000, 15_000,
    ])
  })

  test("a target that is out ignores the outcome of attempts that began before", () => {
    stage = new StagedHealth()
    const old = stage.beginAttempt(40, target)
    stage.failTimes(5, target)
    for (const trial of old.splice(0, 20)) stage.health.endAttempt(trial, { failed: "timeout" })
    expect(msUntilAccepted()).toBe(15_000)
    stage.answer(target)
    for (const trial of old.splice(0, 10)) stage.health.endAttempt(trial, { failed: "timeout" })
    stage.fail(target)
    expect(stage.health.accepts(target)).toBe(true)
    stage.failTimes(5, target)
    for (const trial of old) stage.health.endAttempt(trial, { answered: true })
    expect(stage.health.accepts(target)).toBe(false)
  })

  test("a target that answers as a last resort is in again, and one that fails does not stay out longer", () => {
    stage.failTimes(40, target)
    expect(msUntilAccepted()).toBe(15_000)
    stage.fail(target)
    stage.failTimes(40, target)
    expect(stage.health.accepts(target)).toBe(false)
    stage.answer(target)
    expect(stage.health.accepts(target)).toBe(true)
    stage.fail(target)
    expect(stage.health.accepts(target)).toBe(true)
  })
})

describe("a hanging target", () => {
  const usual = (firstTokenMs: number, times = 20) => {
    for (const trial of stage.beginAttempt(times, target)) {
      stage.health.noteFirstToken(trial, firstTokenMs)
      stage.health.endAttempt(trial, { answered: true })
    }
  }
  const silentFor = () => {
    const begun = stage.now
    while (stage.health.accepts(target) && stage.now - begun < 50_000) stage.now += 100
    return stage.now - begun
  }

  test("a hanging target goes out when five calls have waited for 5 s, and for three times the usual latency, without an event", () => {
    usual(100)
    stage.beginAttempt(5, target)
    expect(silentFor()).toBe(5000)
    stage = new StagedHealth()
    usual(4000)
    stage.beginAttempt(5, target)
    expect(silentFor()).toBeWithin(11_400, 12_700)
  })

  test("a hanging target stays in use if fewer calls wait, if the usual latency is unknown, or if one call gets its first token", () => {
    usual(100)
    stage.beginAttempt(4, target)
    expect(silentFor()).toBe(50_000)
    stage = new StagedHealth()
    stage.beginAttempt(9, target)
    expect(silentFor()).toBe(50_000)
    stage = new StagedHealth()
    usual(100)
    const [stream, ...others] = stage.beginAttempt(9, target)
    stage.now += 4900
    if (stream) stage.health.noteFirstToken(stream, 4900)
    expect(silentFor()).toBe(5000)
    for (const trial of others.slice(0, 4)) stage.health.endAttempt(trial, { failed: "client-gone" })
    expect(stage.health.accepts(target)).toBe(true)
  })

  test("a hanging target is in again with the first event of a new call; events of older streams do not count", () => {
    usual(100)
    const [before] = stage.beginAttempt(1, target)
    if (before) stage.health.noteFirstToken(before, 100)
    const [first] = stage.beginAttempt(6, target)
    stage.now += 5000
    if (before) stage.health.endAttempt(before, { answered: true })
    expect(stage.health.accepts(target)).toBe(false)
    if (first) stage.health.endAttempt(first, { answered: true, totalMs: 5000 })
    expect(stage.health.accepts(target)).toBe(true)
  })

  test("a hanging target is tried again after a minute without calls", () => {
    usual(100)
    stage.beginAttempt(5, target)
    stage.now += 5000
    expect(msUntilAccepted()).toBe(55_000)
    stage.beginAttempt(1, target)
    expect(stage.health.accepts(target)).toBe(false)
  })
})

describe("a rate limit", () => {
  const limited = (more: object = {}) => stage.fail(target, { failed: "limited", ...more })

  test("a rate limit keeps that model of that account out for as long as the provider requests", () => {
    limited({ retryAfterMs: 7000, quota: "minute" })
    expect([target, sibling, elsewhere].map((each) => stage.health.accepts(each))).toEqual([false, true, true])
    expect(msUntilAccepted()).toBe(7000)
  })

  test("a rate limit without a duration keeps the target out like a failure, longer each time", () => {
    limited()
    expect(msUntilAccepted()).toBe(15_000)
    limited()
    expect(msUntilAccepted()).toBe(30_000)
  })

  test("of several rate limits at once the longest counts", () => {
    const [first, second, third] = stage.beginAttempt(3, target)
    for (const [trial, retryAfterMs] of [
      [first, 2000],
      [second, 9000],
      [third, 4000],
    ] as const)
      if (trial) stage.health.endAttempt(trial, { failed: "limited", retryAfterMs })
    expect(msUntilAccepted()).toBe(9000)
  })

  test("a daily rate limit is probed after 300 s, or at its announced end, but within the hour", () => {
    const days = [undefined, 12_000, 86_400_000].map((retryAfterMs) => {
      stage = new StagedHealth()
      limited({ quota: "day", retryAfterMs })
      return msUntilAccepted()
    })
    expect(days).toEqual([300_000, 12_000, 3_600_000])
  })

  test("a limit on money sets the whole account aside and is reported", () => {
    limited({ quota: "spend" })
    expect([target, sibling, elsewhere].map((each) => stage.health.accepts(each))).toEqual([false, false, true])
    expect(stage.setAside).toEqual(["one: spend-cap"])
    expect(msUntilAccepted(sibling)).toBe(300_000)
  })
})

describe("a rejected credential", () => {
  test("a refused credential sets the account aside with all its models for 300 s and is reported once", () => {
    const under = stage.beginAttempt(9, sibling)
    stage.fail(target, "credential")
    for (const trial of under) stage.health.endAttempt(trial, { failed: "credential" })
    expect([target, sibling, elsewhere].map((each) => stage.health.accepts(each))).toEqual([false, false, true])
    expect(msUntilAccepted(sibling)).toBe(300_000)
    stage.fail(sibling, "credential")
    expect(msUntilAccepted()).toBe(300_000)
    expect(stage.setAside).toEqual(["one: credential"])
  })

  test("an answer to an attempt from before a rejected credential does not readmit the account", () => {
    const [before] = stage.beginAttempt(1, sibling)
    stage.fail(target, "credential")
    if (before) stage.health.endAttempt(before, { answered: true })
    expect(stage.health.accepts(sibling)).toBe(false)
  })

  test("an account with a rejected credential is probed by one request at a time, for any model", () => {
    stage.fail(target, "credential")
    stage.now += 300_000
    const trial = stage.health.beginAttempt(target)
    expect(stage.health.accepts(sibling)).toBe(false)
    stage.health.endAttempt(trial, { answered: true })
    expect(stage.health.accepts(sibling)).toBe(true)
  })

  test("a rejected credential is reported again if it was accepted in between", () => {
    stage.fail(target, "credential")
    msUntilAccepted()
    stage.answer(target)
    stage.fail(target, "credential")
    expect(stage.setAside).toEqual(["one: credential", "one: credential"])
  })

  test("a rejected credential does not affect another account, such as a changed one", () => {
    stage.fail(target, "credential")
    expect(stage.health.accepts({ ...target, account: accountNamed("one") })).toBe(true)
  })
})

describe("measurements", () => {
  const known = () => stage.health.snapshot().of(account)?.targets.get("m")

  test("latency to the first token of streams and to the end of other answers are measured separately", () => {
    const trial = stage.health.beginAttempt(target)
    stage.health.noteFirstToken(trial, 200)
    stage.health.endAttempt(trial, { answered: true, outputTokens: 90 })
    stage.health.endAttempt(stage.health.beginAttempt(target), { answered: true, totalMs: 3000, outputTokens: 110 })
    expect(known()?.firstTokenMs?.p50).toBeWithin(190, 210)
    expect(known()?.totalMs?.p50).toBeWithin(2850, 3150)
    expect(known()?.outputTokens.value).toBeWithin(99.9, 100.2)
  })

  test("only the first report of an attempt's end counts", () => {
    const trial = stage.health.beginAttempt(target)
    stage.health.endAttempt(trial, { answered: true })
    for (let each = 0; each < 9; each++) stage.health.endAttempt(trial, { failed: "server" })
    expect(known()?.success.value).toBe(1)
    expect(stage.health.accepts(target)).toBe(true)
  })

  test("few defects of answers cost little quality, many cost their share", () => {
    const shares = [1, 10, 1000].map((count) => {
      stage = new StagedHealth()
      for (let each = 0; each < count; each++) {
        const trial = stage.health.beginAttempt(target)
        stage.health.endAttempt(trial, { answered: true, defects: each % 2 === 0 ? ["invalid-json"] : [] })
      }
      return known()?.cleanShareAt(stage.now) ?? 0
    })
    expect(shares[0]).toBeWithin(0.94, 0.97)
    expect(shares[1]).toBeWithin(0.8, 0.86)
    expect(shares[2]).toBeWithin(0.5, 0.56)
  })
})

describe("memory", () => {
  const models = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => ({ account, upstreamModel: `m${from + index}` }))
  const targetCount = () => stage.health.snapshot().of(account)?.targets.size ?? 0

  test("memory holds at most 2,000 targets, and the most recently used ones stay", () => {
    for (const each of models(20_000)) {
      stage.now++
      stage.answer(each)
      stage.answer(target)
      expect(targetCount()).toBeLessThanOrEqual(2000)
    }
    const targets = stage.health.snapshot().of(account)?.targets
    expect([targets?.has("m"), targets?.has("m19999"), targets?.has("m0")]).toEqual([true, true, false])
  })

  test("targets that were not used for an hour are forgotten, and their account with them", () => {
    for (const each of models(100)) stage.answer(each)
    stage.now += 3_599_999
    stage.answer(elsewhere)
    expect(targetCount()).toBe(100)
    stage.now += 600_000
    stage.answer(elsewhere)
    expect(stage.health.snapshot().of(account)).toBeUndefined()
  })
})

describe("recent success", () => {
  test("a target mostly answers if at least half of its calls of the last ten seconds succeeded", () => {
    const answering = (answers: number, failures: number, afterMs = 0) => {
      stage = new StagedHealth()
      for (let each = 0; each < answers; each++) stage.answer(target)
      stage.failTimes(failures, target)
      stage.now += afterMs
      return stage.health.mostlyAnswers(target)
    }
    expect([answering(4, 4), answering(3, 4), answering(0, 1), answering(1, 0)]).toEqual([true, false, false, true])
    // Without recent calls the last outcome counts; a target that was never called is not penalised.
    expect([answering(9, 1, 11_000), answering(9, 0, 11_000), answering(0, 0)]).toEqual([false, true, true])
  })
})
