// The members of a completions-style chat response, in demo mode and from an upstream.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import { chat, MODEL, objectOf, type SpecBody, sendRequest } from "./client-styles.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify } from "./specify.ts"

interface ChatChoice {
  readonly index: number
  readonly message: SpecBody
  readonly finish_reason: string
}

let demo: RunningGateway
let stage: ScriptedGateway
let answers: readonly SpecBody[]
beforeAll(async () => {
  ;[demo, stage] = await Promise.all([RunningGateway.start(), ScriptedGateway.start()])
  answers = [
    await objectOf(await sendRequest(demo, chat)),
    await objectOf(await sendRequest(stage, chat, { model: FIRST })),
  ]
})
afterAll(() => Promise.all([demo.stop(), stage.stop()]))

specify("chat-response.id", "is a string that is not empty", () => {
  for (const { id } of answers) expect(id).toEqual(expect.stringMatching(/./))
})

specify("chat-response.object", "is chat.completion", () => {
  for (const { object } of answers) expect(object).toBe("chat.completion")
})

specify("chat-response.created", "is a whole number of seconds", () => {
  for (const { created } of answers) {
    expect(created).toSatisfy(Number.isInteger)
    expect(created).toBeGreaterThan(1_600_000_000)
    expect(created).toBeLessThan(Date.now() / 1000 + 60)
  }
})

specify("chat-response.model", "is the caller's name for the model, whatever the upstream calls it", () => {
  expect(answers.map(({ model }) => model)).toEqual([MODEL, FIRST])
})

specify("chat-response.choices", "each have an index, a message with role and content, and a finish_reason", () => {
  for (const answer of answers) {
    const choices = answer.choices as ChatChoice[]
    expect(choices).toHaveLength(1)
    expect(choices[0]).toMatchObject({ index: 0, message: { role: "assistant" }, finish_reason: "stop" })
    expect(choices[0]?.message.content).toEqual(expect.stringMatching(/./))
  }
})
specify("chat-response.choices", "are as many as requested, and counted from 0", async () => {
  const { choices } = await objectOf(await sendRequest(demo, chat, { body: { ...chat.body(MODEL), n: 3 } }))
  expect((choices as ChatChoice[]).map(({ index }) => index)).toEqual([0, 1, 2])
})
specify("chat-response.choices", "state in finish_reason that max_tokens cut them off", async () => {
  const answer = await objectOf(await sendRequest(demo, chat, { body: { ...chat.body(MODEL), max_tokens: 5 } }))
  expect(answer).toMatchObject({ choices: [{ finish_reason: "length" }], usage: { completion_tokens: 5 } })
})

specify("chat-response.usage", "has three whole numbers, the third the sum of the others", () => {
  for (const { usage } of answers) {
    const { prompt_tokens, completion_tokens, total_tokens } = usage as Record<string, number>
    expect([prompt_tokens, completion_tokens, total_tokens].every(Number.isInteger)).toBe(true)
    expect(prompt_tokens).toBeGreaterThan(0)
    expect(completion_tokens).toBeGreaterThan(0)
    expect(total_tokens).toBe(Number(prompt_tokens) + Number(completion_tokens))
  }
})

nothingForgotten("chat-response")
