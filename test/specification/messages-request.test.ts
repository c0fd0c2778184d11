// The members of a messages-style request.
import { afterAll, beforeAll, expect } from "bun:test"
import { errorOf, messages, sendRequest } from "./client-styles.ts"
import { type RequestField, specifyField } from "./fields.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let stage: ScriptedGateway
beforeAll(async () => {
  stage = await ScriptedGateway.start()
})
afterAll(() => stage.stop())

const LOOK = { name: "look", description: "Looks.", input_schema: { type: "object" } }
const USER = { role: "user", content: "How far is the moon?" }
const ASSISTANT = { role: "assistant", content: [{ type: "text", text: "Far." }] }

const full = {
  model: FIRST,
  max_tokens: 50,
  messages: [USER],
  system: "Be brief.",
  temperature: 0.7,
  top_p: 0.9,
  top_k: 40,
  stream: false,
  tools: [LOOK],
  stop_sequences: ["END"],
}

const FIELDS: readonly RequestField[] = [
  {
    line: "messages-request.max_tokens",
    path: "max_tokens",
    takes: ["number"],
    required: true,
    sound: [4096],
    bounds: [1],
    wrong: [0, -1, 1.5],
  },
  {
    line: "messages-request.messages",
    path: "messages",
    takes: ["array"],
    required: true,
    sound: [[USER], [USER, ASSISTANT, USER]],
    wrong: [[]],
    wrongWithin: [
      { value: ["hi"], at: "messages[0]" },
      { value: [{ content: "hi" }], at: "messages[0].role", code: "missing_parameter" },
      ...["system", "tool", "developer", "king", ""].map((role) => ({
        value: [USER, { role, content: "hi" }],
        at: "messages[1].role",
      })),
    ],
  },
  {
    line: "messages-request.system",
    path: "system",
    takes: ["string", "array"],
    sound: ["Be brief.", [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }]],
    wrongWithin: [{ value: ["Be brief."], at: "system[0]" }],
  },
  {
    line: "messages-request.temperature",
    path: "temperature",
    takes: ["number"],
    sound: [0.5],
    bounds: [0, 1],
    wrong: [-0.01, 1.01, 2],
  },
  {
    line: "messages-request.top_p",
    path: "top_p",
    takes: ["number"],
    sound: [0.5],
    bounds: [0, 1],
    wrong: [-0.01, 1.01],
  },
  { line: "messages-request.top_k", path: "top_k", takes: ["number"], sound: [1, 40], wrong: [-1, 1.5] },
  { line: "messages-request.stream", path: "stream", takes: ["boolean"], sound: [false, true] },
  {
    line: "messages-request.tools",
    path: "tools",
    takes: ["array"],
    sound: [[LOOK], []],
    wrongWithin: [
      { value: ["look"], at: "tools[0]" },
      { value: [{ name: "look" }], at: "tools[0].input_schema", code: "missing_parameter" },
    ],
  },
  {
    line: "messages-request.stop_sequences",
    path: "stop_sequences",
    takes: ["array"],
    sound: [["END"], ["END", "STOP"], []],
    wrongWithin: [{ value: ["END", 1], at: "stop_sequences[1]" }],
  },
]
for (const field of FIELDS) specifyField(field, { style: messages, full, stage: () => stage })

async function refusal(model: unknown): Promise<Record<string, unknown>> {
  const { model: _, ...rest } = full
  const response = await sendRequest(stage, messages, { body: model === undefined ? rest : { ...rest, model } })
  const { code, type, param } = await errorOf(response)
  return { status: response.status, code, type, param }
}

specify("messages-request.model", "is required", async () => {
  const expected = { status: 400, code: "missing_parameter", type: "invalid_request_error", param: "model" }
  expect(await refusal(undefined)).toEqual(expected)
  expect(await refusal(null)).toEqual(expected)
})
specifyEach<unknown>("messages-request.model", ["", 7, true, ["test/first"], { id: "test/first" }], {
  sentence: (model) => `${JSON.stringify(model)} is refused`,
  check: async (model) =>
    expect(await refusal(model)).toMatchObject({ status: 400, code: "invalid_parameter", param: "model" }),
})
specify("messages-request.model", "a name that no model has is refused", async () => {
  expect(await refusal("test/none")).toMatchObject({ status: 400, code: "model_not_found", param: "model" })
})
specify("messages-request.model", "reaches the upstream under its name there", async () => {
  expect((await sendRequest(stage, messages, { body: full })).status).toBe(200)
  expect(stage.reached().model).toBe("first")
})

specify("messages-request.messages", "with the vendor's own version header a system entry is taken", async () => {
  const turns = [USER, { role: "system", content: "Be brief." }]
  const headers = { "anthropic-version": "2023-06-01" }
  expect((await sendRequest(stage, messages, { body: { ...full, messages: turns }, headers })).status).toBe(200)
  expect(stage.reached().messages).toEqual(turns)
})

specify("messages-request.stream", "the answer is whole if it is omitted", async () => {
  const { stream: _, ...rest } = full
  const response = await sendRequest(stage, messages, { body: rest })
  expect(response.headers.get("content-type")).toBe("application/json")
  expect(await response.json()).toMatchObject({ type: "message" })
})
specify("messages-request.stream", "true returns events from message_start to message_stop", async () => {
  const response = await sendRequest(stage, messages, { body: { ...full, stream: true } })
  expect(response.headers.get("content-type")).toStartWith("text/event-stream")
  const names = [...(await response.text()).matchAll(/^event: (\S+)$/gm)].map(([, name]) => name)
  expect(names.at(0)).toBe("message_start")
  expect(names).toContain("content_block_delta")
  expect(names.at(-1)).toBe("message_stop")
})

nothingForgotten("messages-request")
