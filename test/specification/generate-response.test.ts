// The members of a content-generation response, in demo mode and from an upstream.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import { generate, MODEL, objectOf, type SpecBody, sendRequest } from "./client-styles.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify } from "./specify.ts"

interface GenerateCandidate {
  readonly content: { readonly role: string; readonly parts: readonly SpecBody[] }
  readonly finishReason: string
  readonly index: number
}

let demo: RunningGateway
let stage: ScriptedGateway
let answers: readonly SpecBody[]
beforeAll(async () => {
  ;[demo, stage] = await Promise.all([RunningGateway.start(), ScriptedGateway.start()])
  answers = [
    await objectOf(await sendRequest(demo, generate)),
    await objectOf(await sendRequest(stage, generate, { model: FIRST })),
  ]
})
afterAll(() => Promise.all([demo.stop(), stage.stop()]))

specify("generate-response.candidates", "each have content of the model, a finishReason and an index", () => {
  for (const answer of answers) {
    const candidates = answer.candidates as GenerateCandidate[]
    expect(candidates).toHaveLength(1)
    expect(candidates[0]).toMatchObject({ content: { role: "model" }, finishReason: "STOP", index: 0 })
    expect(candidates[0]?.content.parts).toEqual([{ text: expect.stringMatching(/./) as unknown as string }])
  }
})
specify("generate-response.candidates", "are as many as requested, and counted from 0", async () => {
  const body = { ...generate.body(MODEL), generationConfig: { candidateCount: 3 } }
  const { candidates } = await objectOf(await sendRequest(demo, generate, { body }))
  expect((candidates as GenerateCandidate[]).map(({ index }) => index)).toEqual([0, 1, 2])
})
specify("generate-response.candidates", "state in finishReason that maxOutputTokens cut them off", async () => {
  const body = { ...generate.body(MODEL), generationConfig: { maxOutputTokens: 5 } }
  expect(await objectOf(await sendRequest(demo, generate, { body }))).toMatchObject({
    candidates: [{ finishReason: "MAX_TOKENS" }],
    usageMetadata: { candidatesTokenCount: 5 },
  })
})

specify("generate-response.usageMetadata", "has three whole numbers, the third the sum of the others", () => {
  for (const { usageMetadata } of answers) {
    const { promptTokenCount, candidatesTokenCount, totalTokenCount } = usageMetadata as Record<string, number>
    expect([promptTokenCount, candidatesTokenCount, totalTokenCount].every(Number.isInteger)).toBe(true)
    expect(promptTokenCount).toBeGreaterThan(0)
    expect(candidatesTokenCount).toBeGreaterThan(0)
    expect(totalTokenCount).toBe(Number(promptTokenCount) + Number(candidatesTokenCount))
  }
})

specify("generate-response.modelVersion", "is the caller's name for the model, whatever the upstream calls it", () => {
  expect(answers.map(({ modelVersion }) => modelVersion)).toEqual([MODEL, FIRST])
})

nothingForgotten("generate-response")
