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

describe("what is to be embedded", () => {
  test("what is to be embedded is cut so that nothing is left out, doubled or moved, and every call is one its host takes", () => {
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
          // One alone may be too long; that is for its host to say.
          if (some.length > 1) expect(tokens.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(most.tokens)
        }
      }),
    )
  })

  test("what is to be embedded is cut no more than it must be", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 50 }), (count, most) => {
        const all = Array.from({ length: count }, () => ({ content: { kind: "text", text: "x" } as const }))
        expect(splitIntoBatches({ inputs: all }, { inputs: most })).toHaveLength(Math.ceil(count / most))
      }),
    )
  })
})

describe("the answers of several calls", () => {
  test("the answers of several calls are one: vectors in their order, what was used added up", () => {
    const one = { vectors: [[1], [2]], usage: { input: 5, audioInput: 1 } }
    expect(joinEmbeddingResponses([one, { vectors: [[3]], usage: { input: 7 } }])).toEqual({
      vectors: [[1], [2], [3]],
      usage: { input: 12, audioInput: 1 },
    })
  })

  test("the answers of several calls tell what was used only where all of them do", () => {
    expect(joinEmbeddingResponses([{ vectors: [[1]], usage: { input: 5 } }, { vectors: [[2]] }])).toEqual({
      vectors: [[1], [2]],
    })
  })
})
