import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Target } from "../../routing/route-plan.ts"
import { ExchangeProgress } from "./exchange-progress.ts"
import { ANSWERED, failedEnd, toExchangeRecord, toTracedExchange } from "./exchange-record.ts"

const target = (provider: string) =>
  ({
    model: { id: `lab/${provider}` },
    account: { id: provider },
    upstreamModel: "up",
    protocol: "openai-chat",
    endpoint: { baseUrl: "http://host.example" },
  }) as unknown as Target

const progressOf = () => new ExchangeProgress({ requestId: "id", route: "POST /v1/chat/completions" })

describe("the record of an exchange", () => {
  test("a request that never reached a provider has no requested model, no provider and no attempt", () => {
    const progress = progressOf()
    progress.admitted = { model: "lab/wanted", stream: false, mapped: undefined }
    const record = toExchangeRecord(progress, failedEnd(new GatewayError("budget_exceeded", ""), 402))
    expect(record).toMatchObject({ model: "lab/wanted", attempts: 0, status: 402, outcome: "refused" })
    expect([record.requestedModel, record.provider, record.serving]).toEqual([undefined, undefined, undefined])
  })

  test("after a fallback it names the model that served, the one requested, and both attempts in order", () => {
    const progress = progressOf()
    progress.admitted = { model: "lab/first", stream: false, mapped: undefined }
    const failed = progress.attempts.begin(target("first"))
    progress.attempts.noteFailed(failed, new GatewayError("upstream_unavailable", ""))
    progress.attempts.begin(target("second")).usage = { input: 3, output: 4 }
    const record = toExchangeRecord(progress, ANSWERED)
    expect(record).toMatchObject({ model: "lab/second", requestedModel: "lab/first", provider: "second", attempts: 2 })
    expect(record.usage).toEqual({ input: 3, output: 4 })
    const made = toTracedExchange(record).attemptsMade.map(({ provider, error }) => [provider, error?.code])
    expect(made).toEqual([
      ["first", "upstream_unavailable"],
      ["second", undefined],
    ])
  })

  test("the winner of a race serves, though it began first", () => {
    const progress = progressOf()
    const [first, second] = [progress.attempts.begin(target("first")), progress.attempts.begin(target("second"))]
    progress.attempts.noteLostRace(second)
    progress.attempts.serving = first
    const record = toExchangeRecord(progress, ANSWERED)
    expect(record).toMatchObject({ provider: "first", attempts: 2 })
    expect(record.failedAttempts).toMatchObject([{ provider: "second", outrun: true }])
  })

  test("the booked usage and cost replace the reported usage", () => {
    const progress = progressOf()
    progress.attempts.begin(target("first")).usage = { input: 1 }
    progress.charge = { settled: { usage: { input: 2 }, costNano: 5n } }
    expect(toExchangeRecord(progress, ANSWERED)).toMatchObject({ usage: { input: 2 }, costNanoUsd: 5n })
  })

  test("timings follow the stages, and the overhead is the time outside of attempts", () => {
    const progress = progressOf()
    const { startedAt } = progress
    progress.readAt = startedAt + 2
    progress.heldAt = startedAt + 5
    const facts = progress.attempts.begin(target("first"))
    Object.assign(facts, { startedAt: startedAt + 6, connectMs: 1, respondedAt: startedAt + 16 })
    Object.assign(facts, { firstEventAt: startedAt + 20, endedAt: startedAt + 46 })
    progress.attempts.firstStartedAt = startedAt + 6
    const { timings, endedAt } = toExchangeRecord(progress, ANSWERED)
    const { totalMs, overheadMs, ...stages } = timings
    const rounded = Object.fromEntries(Object.entries(stages).map(([name, ms]) => [name, Math.round(ms ?? -1)]))
    expect(rounded).toEqual({ readMs: 2, holdMs: 3, connectMs: 1, headMs: 10, firstTokenMs: 14, attemptMs: 40 })
    expect(totalMs).toBe(endedAt - startedAt)
    expect(overheadMs).toBeCloseTo(totalMs - 40)
  })
})
