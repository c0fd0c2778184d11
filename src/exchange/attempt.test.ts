import { expect, test } from "bun:test"
import type { IngressCodec } from "../protocols/codec.ts"
import type { Target } from "../routing/plan.ts"
import { type Attempts, attempt } from "./attempt.ts"
import { newRecord, tracedExchange } from "./record.ts"

const target = (protocol: string, provider: string) =>
  ({
    model: { id: `test/${provider}`, reasoning: false },
    account: { id: provider, lines: {}, secrets: () => [] },
    upstreamModel: "up",
    protocol,
    line: { streamUsage: "sent", baseUrl: "" },
  }) as unknown as Target

test("a fault of ours on the way to a target is an attempt, and the next one that answers is another", async () => {
  const record = newRecord("request", "route")
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
      record,
      isGone: () => false,
    },
    house: {
      codecs: { ingress: new Map([["openai-chat", broken]]), upstream: new Map([["other", { minter: () => "" }]]) },
      seals: { has: () => false },
    },
    request: { text: "{}", isAscii: true, body: {}, reading: { stream: false, routing: { fallback: [] } } },
    targets: [target("other", "first"), target("openai-chat", "second")],
  } as unknown as Attempts
  expect(await attempt(attempts, async (each) => each.target.account.id)).toBe("second")
  expect(record.attempts).toBe(2)
  expect(tracedExchange(record).attemptsMade.map(({ provider, error }) => [provider, error?.code])).toEqual([
    ["first", "internal_error"],
    ["second", undefined],
  ])
})
