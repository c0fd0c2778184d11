import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { EmbeddingInput, EmbeddingTask } from "../../canonical/embedding.ts"
import { joinEmbeddingResponses, likelyTokensOf, splitIntoBatches } from "./embedding-batches.ts"

const task = fc.constantFrom<EmbeddingTask | undefined>(undefined, "query", "document")
const input = fc.record({ text: fc.string({ maxLength: 30, unit: "grapheme" }), task }).map(({ text, task: word }) => {
  const of: EmbeddingInput = { content: { kind: "text", text }, ...(word && { task: word }) }
  return of
})
const inputs = fc.array(input, { minLength: 1, maxLength: 40 })
const limits = fc.record({ inputs: fc.integer({ min: 1, max: 10 }), tokens: fc.integer({ min: 1, max: 40 }) })

describe("embedding input", () => {
  test("embedding input is split without omission, duplication or reordering, within the limits of the host", () => {
    fc.assert(
      fc.property(inputs, limits, (all, most) => {
        const batches = splitIntoBatches({ inputs: all, endUser: "u" }, most)
        expect(batches.flatMap((batch) => batch.inputs)).toEqual(all)
        for (const { inputs: some, settings } of batches) {
          expect(some.length).toBeLessThanOrEqual(most.inputs)
          expect(new Set(some.map((each) => each.task))).toEqual(new Set([settings.task]))
          expect(settings.endUser).toBe("u")
          const tokens = some.map(({ content }) =>
            likelyTokensOf(Buffer.byteLength("text" in content ? content.text : "")),
          )
          // A single input may be too long; its host rejects it.
          if (some.length > 1) expect(tokens.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(most.tokens)
        }
      }),
    )
  })

  test("embedding input is split into as few calls as possible", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 50 }), (count, most) => {
        const all = Array.from({ length: count }, () => ({ content: { kind: "text", text: "x" } as const }))
        expect(splitIntoBatches({ inputs: all }, { inputs: most })).toHaveLength(Math.ceil(count / most))
      }),
    )
  })
})

describe("the responses of several embedding calls", () => {
  test("the responses of several embedding calls are joined: vectors in order, usage summed", () => {
    const one = { vectors: [[1], [2]], usage: { input: 5, audioInput: 1 } }
    expect(joinEmbeddingResponses([one, { vectors: [[3]], usage: { input: 7 } }])).toEqual({
      vectors: [[1], [2], [3]],
      usage: { input: 12, audioInput: 1 },
    })
  })

  test("the joined response has usage only if every call reported it", () => {
    expect(joinEmbeddingResponses([{ vectors: [[1]], usage: { input: 5 } }, { vectors: [[2]] }])).toEqual({
      vectors: [[1], [2]],
    })
  })
})
