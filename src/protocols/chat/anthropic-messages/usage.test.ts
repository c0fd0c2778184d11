import { expect, test } from "bun:test"
import fc from "fast-check"
import { totalTokens, type Usage } from "../../../canonical/usage.ts"
import { decodeUsage, laterUsage } from "./usage.ts"

const cases: [string, object, Usage][] = [
  ["plain", { input_tokens: 9, output_tokens: 3 }, { input: 9, output: 3 }],
  [
    "the input excludes cache reads and writes",
    { input_tokens: 4, cache_creation_input_tokens: 426, cache_read_input_tokens: 14_210, output_tokens: 290 },
    { input: 4, cacheWrite: 426, cacheRead: 14_210, output: 290 },
  ],
  [
    "cache writes for five minutes and for an hour are separate",
    {
      input_tokens: 1,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      cache_read_input_tokens: 0,
      output_tokens: 2,
    },
    { input: 1, cacheWrite: 10, cacheWrite1h: 20, cacheRead: 0, output: 2 },
  ],
  [
    "the output includes thinking",
    { input_tokens: 51, output_tokens: 1699, output_tokens_details: { thinking_tokens: 139 } },
    { input: 51, output: 1560, reasoning: 139 },
  ],
  [
    "a compaction is added",
    {
      input_tokens: 682,
      output_tokens: 1320,
      iterations: [
        { type: "compaction", input_tokens: 60_385, output_tokens: 592 },
        { type: "message", input_tokens: 682, output_tokens: 1320 },
      ],
    },
    { input: 61_067, output: 1912 },
  ],
  ["only the output is reported, as late in a stream", { output_tokens: 15 }, { output: 15 }],
]
for (const [name, wire, expected] of cases) {
  test(`usage is decoded: ${name}`, () => expect(decodeUsage(wire as never)).toEqual(expected))
}

test("a value that is not usage is unknown, never zero", () => {
  for (const wire of [undefined, null, 5, [], {}, { service_tier: "standard" }]) {
    expect(decodeUsage(wire as never)).toBeUndefined()
  }
})

test("the buckets add up to the reported total", () => {
  const tokens = fc.nat({ max: 1_000_000 })
  fc.assert(
    fc.property(tokens, tokens, tokens, tokens, tokens, (fresh, read, short, long, out) => {
      const wire = {
        input_tokens: fresh,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: short + long,
        cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
        output_tokens: out,
        output_tokens_details: { thinking_tokens: Math.floor(out / 3) },
      }
      expect(totalTokens(decodeUsage(wire) ?? {})).toBe(fresh + read + short + long + out)
    }),
  )
})

test("a later report in a stream replaces the earlier, and no token is counted twice", () => {
  const first = { input: 2, cacheRead: 0, cacheWrite: 10, cacheWrite1h: 300, output: 1 }
  expect(laterUsage(first, { output: 9 })).toEqual({ ...first, output: 9 })
  expect(laterUsage(first, { input: 6, cacheRead: 7, cacheWrite: 400, output: 9 })).toEqual({
    input: 6,
    cacheRead: 7,
    cacheWrite: 10,
    cacheWrite1h: 390,
    output: 9,
  })
  const short = { input: 2, cacheWrite: 3068, cacheWrite1h: 0, output: 1 }
  expect(laterUsage(short, { input: 6, cacheWrite: 3337, output: 198 })).toEqual({
    input: 6,
    cacheWrite: 3337,
    cacheWrite1h: 0,
    output: 198,
  })
})

test("reported values that are not counts leave the usage empty but present", () => {
  for (const wire of [{ input_tokens: -1 }, { output_tokens: "9" }]) expect(decodeUsage(wire)).toEqual({})
})
