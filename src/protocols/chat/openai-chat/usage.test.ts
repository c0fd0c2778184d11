import { expect, test } from "bun:test"
import fc from "fast-check"
import { totalTokens, type Usage } from "../../../canonical/usage.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

const cases: [string, object, Usage][] = [
  ["plain", { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }, { input: 9, output: 3 }],
  [
    "OpenAI includes cached, reasoning and audio tokens",
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 60, audio_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 30, audio_tokens: 5, accepted_prediction_tokens: 0 },
    },
    { input: 30, cacheRead: 60, audioInput: 10, output: 15, reasoning: 30, audioOutput: 5 },
  ],
  [
    "xAI excludes reasoning, according to the total",
    {
      prompt_tokens: 10,
      completion_tokens: 2,
      total_tokens: 112,
      completion_tokens_details: { reasoning_tokens: 100 },
    },
    { input: 10, output: 2, reasoning: 100 },
  ],
  [
    "DeepSeek reports cache hits outside the details",
    { prompt_tokens: 10, completion_tokens: 2, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 },
    { input: 6, cacheRead: 4, output: 2 },
  ],
  [
    "Gemini excludes reasoning and does not report it, according to the total",
    { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 },
    { input: 35, output: 12, reasoning: 62 },
  ],
  [
    "OpenRouter excludes a cache write from the prompt",
    { prompt_tokens: 2168, prompt_tokens_details: { cached_tokens: 2161, cache_write_tokens: 2161 } },
    { input: 7, cacheRead: 2161, cacheWrite: 2161 },
  ],
  [
    "OpenRouter reports more reasoning than output",
    {
      prompt_tokens: 43,
      completion_tokens: 10,
      total_tokens: 53,
      completion_tokens_details: { reasoning_tokens: 11 },
    },
    { input: 43, output: 0, reasoning: 10 },
  ],
  ["zero is not missing", { prompt_tokens: 0, completion_tokens: 0 }, { input: 0, output: 0 }],
  ["one half is known", { prompt_tokens: 5 }, { input: 5 }],
  [
    "invalid counts are ignored",
    { prompt_tokens: 5, completion_tokens: -3, prompt_tokens_details: { cached_tokens: "4" } },
    { input: 5 },
  ],
  [
    "Grok at Azure excludes cached tokens from the prompt",
    { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9, prompt_tokens_details: { cached_tokens: 163 } },
    { input: 7, cacheRead: 163, output: 2 },
  ],
  [
    "Grok at Azure excludes cached tokens from the prompt, but not from the total",
    { prompt_tokens: 7, completion_tokens: 2, total_tokens: 172, prompt_tokens_details: { cached_tokens: 163 } },
    { input: 7, cacheRead: 163, output: 2 },
  ],
  [
    "Mistral excludes audio from the prompt, according to the total",
    { prompt_tokens: 9, completion_tokens: 248, total_tokens: 632, prompt_tokens_details: { audio_tokens: 375 } },
    { input: 9, audioInput: 375, output: 248 },
  ],
  [
    "Mistral excludes audio from a long prompt",
    { prompt_tokens: 900, completion_tokens: 248, total_tokens: 1523, prompt_tokens_details: { audio_tokens: 375 } },
    { input: 900, audioInput: 375, output: 248 },
  ],
  [
    "OpenAI includes audio in the prompt",
    { prompt_tokens: 900, completion_tokens: 248, total_tokens: 1148, prompt_tokens_details: { audio_tokens: 375 } },
    { input: 525, audioInput: 375, output: 248 },
  ],
]

test.each(cases)("usage is decoded: %s", (_, wire, usage) => {
  expect(decodeUsage(wire as never)).toEqual(usage)
})

test.each([[undefined], [null], [{}], ["5"], [[]]])("%p is not usage", (wire) => {
  expect(decodeUsage(wire as never)).toBeUndefined()
})

test("the buckets add up to the total and none is negative", () => {
  const share = fc.integer({ min: 0, max: 1000 })
  fc.assert(
    fc.property(share, share, share, share, (fresh, cached, visible, reasoning) => {
      const usage = decodeUsage({
        prompt_tokens: fresh + cached,
        completion_tokens: visible + reasoning,
        total_tokens: fresh + cached + visible + reasoning,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: reasoning },
      })
      expect(usage).toEqual({ input: fresh, cacheRead: cached, output: visible, reasoning })
      expect(totalTokens(usage ?? {})).toBe(fresh + cached + visible + reasoning)
    }),
  )
})

test("encoded usage decodes to the same", () => {
  const some = fc.integer({ min: 1, max: 1000 })
  const known = {
    input: some,
    cacheRead: some,
    cacheWrite: some,
    audioInput: some,
    output: some,
    reasoning: some,
    audioOutput: some,
  }
  fc.assert(
    fc.property(fc.record(known), (usage) => {
      expect(decodeUsage(encodeUsage(usage))).toEqual(usage)
    }),
  )
  expect(encodeUsage({ cacheWrite1h: 1, imageInput: 2, imageOutput: 4 }).total_tokens).toBe(7)
})
