// The members of a messages-style response, in demo mode and from an upstream.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import { MODEL, messages, objectOf, type SpecBody, sendRequest } from "./client-styles.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify } from "./specify.ts"

let demo: RunningGateway
let stage: ScriptedGateway
let answers: readonly SpecBody[]
beforeAll(async () => {
  ;[demo, stage] = await Promise.all([RunningGateway.start(), ScriptedGateway.start()])
  answers = [
    await objectOf(await sendRequest(demo, messages)),
    await objectOf(await sendRequest(stage, messages, { model: FIRST })),
  ]
})
afterAll(() => Promise.all([demo.stop(), stage.stop()]))

specify("messages-response.id", "is a string that is not empty", () => {
  for (const { id } of answers) expect(id).toEqual(expect.stringMatching(/./))
})

specify("messages-response.type", "is message", () => {
  for (const { type } of answers) expect(type).toBe("message")
})

specify("messages-response.role", "is assistant", () => {
  for (const { role } of answers) expect(role).toBe("assistant")
})

specify("messages-response.content", "is blocks with a type, and a text where that is text", () => {
  for (const { content } of answers) {
    const blocks = content as SpecBody[]
    expect(blocks).toHaveLength(1)
    expect(blocks[0]).toEqual({ type: "text", text: expect.stringMatching(/./) as unknown as string })
  }
})
specify("messages-response.content", "has blocks of other types where a tool is called", async () => {
  const look = { name: "look", input_schema: { type: "object", properties: { at: { type: "string" } } } }
  const body = { ...messages.body(MODEL), tools: [look], tool_choice: { type: "tool", name: "look" } }
  const { content, stop_reason } = await objectOf(await sendRequest(demo, messages, { body }))
  expect(content).toEqual([expect.objectContaining({ type: "tool_use", name: "look" })])
  expect(stop_reason).toBe("tool_use")
})

specify("messages-response.model", "is the caller's name for the model, whatever the upstream calls it", () => {
  expect(answers.map(({ model }) => model)).toEqual([MODEL, FIRST])
})

specify("messages-response.stop_reason", "is end_turn where the answer came to its end", () => {
  for (const { stop_reason } of answers) expect(stop_reason).toBe("end_turn")
})
specify("messages-response.stop_reason", "is max_tokens where these cut it off", async () => {
  const answer = await objectOf(await sendRequest(demo, messages, { body: { ...messages.body(MODEL), max_tokens: 5 } }))
  expect(answer).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 5 } })
})

specify("messages-response.stop_sequence", "is null where none of the caller's stopped it", () => {
  for (const answer of answers) expect(answer.stop_sequence).toBeNull()
})
specify("messages-response.stop_sequence", "is the sequence that stopped it", async () => {
  // Hosts of chat completions do not report the sequence.
  const body = { ...messages.body("anthropic/claude-haiku-4.5"), stop_sequences: ["simulator"] }
  expect(await objectOf(await sendRequest(demo, messages, { body }))).toMatchObject({
    stop_reason: "stop_sequence",
    stop_sequence: "simulator",
  })
})

specify("messages-response.usage", "has four whole numbers", () => {
  for (const { usage } of answers) {
    const counted = usage as Record<string, number>
    for (const name of [
      "input_tokens",
      "output_tokens",
      "cache_creation_input_tokens",
      "cache_read_input_tokens",
    ] as const) {
      expect(counted[name]).toSatisfy(Number.isInteger)
    }
    expect(counted.input_tokens).toBeGreaterThan(0)
    expect(counted.output_tokens).toBeGreaterThan(0)
  }
})

nothingForgotten("messages-response")
