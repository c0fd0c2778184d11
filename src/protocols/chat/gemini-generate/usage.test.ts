import { expect, test } from "bun:test"
import fc from "fast-check"
import { totalTokens, type Usage } from "../../../canonical/usage.ts"
import { decodeUsage } from "./usage.ts"

const modal = (modality: string, tokenCount: number) => ({ modality, tokenCount })

const cases: [string, object, Usage][] = [
  ["plain", { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 }, { input: 9, output: 3 }],
  [
    "the prompt includes cached tokens",
    { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 5, totalTokenCount: 105 },
    { input: 40, cacheRead: 60, output: 5 },
  ],
  [
    "the candidates exclude thoughts",
    { promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 20, totalTokenCount: 35 },
    { input: 10, output: 5, reasoning: 20 },
  ],
  [
    "the candidates include thoughts, according to the total",
    { promptTokenCount: 10, candidatesTokenCount: 25, thoughtsTokenCount: 20, totalTokenCount: 35 },
    { input: 10, output: 5, reasoning: 20 },
  ],
  [
    "thoughts are not reported and follow from the total",
    { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 35 },
    { input: 10, output: 5, reasoning: 20 },
  ],
  [
    "the prompt excludes tool input",
    { promptTokenCount: 10, toolUsePromptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 22 },
    { input: 17, output: 5 },
  ],
  [
    "audio and images are separate, without their cached share",
    {
      promptTokenCount: 100,
      cachedContentTokenCount: 50,
      candidatesTokenCount: 30,
      totalTokenCount: 130,
      promptTokensDetails: [modal("TEXT", 20), modal("AUDIO", 40), modal("IMAGE", 30), modal("VIDEO", 10)],
      cacheTokensDetails: [modal("TEXT", 10), modal("AUDIO", 35), modal("VIDEO", 5)],
      candidatesTokensDetails: [modal("TEXT", 8), modal("IMAGE", 22)],
    },
    { input: 15, cacheRead: 50, audioInput: 5, imageInput: 30, output: 8, imageOutput: 22 },
  ],
  [
    "audio output is separate",
    { promptTokenCount: 1, candidatesTokenCount: 9, candidatesTokensDetails: [modal("AUDIO", 9)] },
    { input: 1, output: 0, audioOutput: 9 },
  ],
  ["only thoughts have arrived", { promptTokenCount: 3, thoughtsTokenCount: 4 }, { input: 3, reasoning: 4 }],
  [
    "only thoughts have arrived, and the total leaves no rest",
    { promptTokenCount: 3, thoughtsTokenCount: 4, totalTokenCount: 7 },
    { input: 3, reasoning: 4, output: 0 },
  ],
  ["one half is known", { promptTokenCount: 5 }, { input: 5 }],
  ["zero is not missing", { promptTokenCount: 0, candidatesTokenCount: 0 }, { input: 0, output: 0 }],
  [
    "invalid counts are ignored",
    { promptTokenCount: 5, candidatesTokenCount: -3, cachedContentTokenCount: "4", promptTokensDetails: "x" },
    { input: 5 },
  ],
  [
    "no bucket is negative if cached or audio tokens exceed the total",
    { promptTokenCount: 5, cachedContentTokenCount: 3, promptTokensDetails: [modal("AUDIO", 9)] },
    { input: 0, cacheRead: 3, audioInput: 2 },
  ],
]

test.each(cases)("usage is decoded: %s", (_, wire, usage) => {
  expect(decodeUsage(wire as never)).toEqual(usage)
})

test.each([[undefined], [null], [{}], ["5"], [[]], [{ trafficType: "ON_DEMAND" }]])("%p is not usage", (wire) => {
  expect(decodeUsage(wire as never)).toBeUndefined()
})

test("the buckets add up to the total and none is negative", () => {
  const share = fc.integer({ min: 0, max: 1000 })
  const shares = fc.record({ text: share, audio: share, image: share })
  const details = ({ text, audio, image }: { text: number; audio: number; image: number }) => [
    modal("TEXT", text),
    modal("AUDIO", audio),
    modal("IMAGE", image),
  ]
  const sum = (of: object) => Object.values(of).reduce<number>((total, each) => total + each, 0)
  fc.assert(
    fc.property(shares, shares, shares, shares, share, (fresh, cached, tools, candidates, thoughts) => {
      const prompt = {
        text: fresh.text + cached.text,
        audio: fresh.audio + cached.audio,
        image: fresh.image + cached.image,
      }
      const usage = decodeUsage({
        promptTokenCount: sum(prompt),
        promptTokensDetails: details(prompt),
        cachedContentTokenCount: sum(cached),
        cacheTokensDetails: details(cached),
        toolUsePromptTokenCount: sum(tools),
        toolUsePromptTokensDetails: details(tools),
        candidatesTokenCount: sum(candidates),
        candidatesTokensDetails: details(candidates),
        thoughtsTokenCount: thoughts,
        totalTokenCount: sum(prompt) + sum(tools) + sum(candidates) + thoughts,
      })
      expect(usage).toEqual({
        input: fresh.text + tools.text,
        cacheRead: sum(cached),
        audioInput: fresh.audio + tools.audio,
        imageInput: fresh.image + tools.image,
        output: candidates.text,
        audioOutput: candidates.audio,
        imageOutput: candidates.image,
        reasoning: thoughts,
      })
      expect(totalTokens(usage ?? {})).toBe(sum(prompt) + sum(tools) + sum(candidates) + thoughts)
    }),
  )
})
