import { expect, test } from "bun:test"
import type { IngressCodec } from "../../protocols/chat-codec.ts"
import { HealthMonitor } from "../../routing/health-monitor.ts"
import type { Target } from "../../routing/route-plan.ts"
import { DEFAULT_TIMEOUTS } from "../exchange-deps.ts"
import type { Attempt } from "../lanes/lane.ts"
import { ExchangeProgress } from "../record/exchange-progress.ts"
import { ANSWERED, toExchangeRecord, toTracedExchange } from "../record/exchange-record.ts"
import type { ReservedExchange } from "../reserved-exchange.ts"
import { attemptTargets } from "./attempt-targets.ts"
import { RetryBudget } from "./retry-budget.ts"

const target = (protocol: string, provider: string) =>
  ({
    model: { id: `test/${provider}`, reasoning: false },
    account: { id: provider, endpoints: {}, secrets: () => [] },
    upstreamModel: "up",
    protocol,
    endpoint: { streamUsage: "sent", baseUrl: "" },
  }) as unknown as Target

test("a fault of ours on the way to a target is an attempt, and the next one that answers is another", async () => {
  const progress = new ExchangeProgress({ requestId: "request", route: "route" })
  const broken = {
    decodeRequest() {
      throw new Error("a codec's fault")
    },
  } as unknown as IngressCodec
  const attempts = {
    call: {
      protocol: { id: "openai-chat" },
      envelope: { does: "generate" },
      caller: { tenant: "t", strict: false },
      progress,
      isGone: () => false,
    },
    deps: {
      codecs: { ingress: new Map([["openai-chat", broken]]), upstream: new Map([["other", { minter: () => "" }]]) },
      seals: { has: () => false },
      timeouts: DEFAULT_TIMEOUTS,
      health: new HealthMonitor({ now: () => 0, chance: () => 0, onSetAside: () => {} }),
      retries: new RetryBudget(() => 0),
      chance: () => 0,
    },
    request: { text: "{}", isAscii: true, body: {}, reading: { stream: false, routing: { fallback: [] } } },
    targets: [target("other", "first"), target("openai-chat", "second")],
  } as unknown as ReservedExchange
  const send = async (each: Attempt) => each.target.account.id
  expect((await attemptTargets(attempts, { send, drop: () => {} })).answer).toBe("second")
  const record = toExchangeRecord(progress, ANSWERED)
  expect(record.attempts).toBe(2)
  expect(toTracedExchange(record).attemptsMade.map(({ provider, error }) => [provider, error?.code])).toEqual([
    ["first", "internal_error"],
    ["second", undefined],
  ])
})
