// The members of a completions-style chat request, and the roles in it.
import { afterAll, beforeAll, expect } from "bun:test"
import { chat, errorOf, sendRequest } from "./client-styles.ts"
import { type RequestField, specifyField } from "./fields.ts"
import type { LineId } from "./lines.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let stage: ScriptedGateway
beforeAll(async () => {
  stage = await ScriptedGateway.start()
})
afterAll(() => stage.stop())

const LOOK = { type: "function", function: { name: "look", description: "Looks.", parameters: { type: "object" } } }
const SHAPE = { name: "distance", schema: { type: "object", properties: { km: { type: "number" } } }, strict: true }
const USER = { role: "user", content: "How far is the moon?" }
const CALL = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }

const full = {
  model: FIRST,
  messages: [USER],
  temperature: 0.7,
  max_tokens: 50,
  top_p: 0.9,
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  stream: false,
  tools: [LOOK],
  response_format: { type: "text" },
  stop: ["END"],
}

const FIELDS: readonly RequestField[] = [
  {
    line: "chat-request.messages",
    path: "messages",
    takes: ["array"],
    required: true,
    sound: [[USER], [{ role: "system", content: "Be brief." }, USER]],
    wrong: [[]],
    wrongWithin: [
      { value: ["hi"], at: "messages[0]" },
      { value: [{ content: "hi" }], at: "messages[0].role", code: "missing_parameter" },
      { value: [USER, { role: "king", content: "hi" }], at: "messages[1].role" },
      { value: [{ role: "", content: "hi" }], at: "messages[0].role" },
      { value: [{ role: "model", content: "hi" }], at: "messages[0].role" },
    ],
  },
  {
    line: "chat-request.temperature",
    path: "temperature",
    takes: ["number"],
    sound: [1, 0.5],
    bounds: [0, 2],
    wrong: [-0.01, 2.01],
  },
  {
    line: "chat-request.max_tokens",
    path: "max_tokens",
    takes: ["number"],
    sound: [4096],
    bounds: [1],
    wrong: [0, -1, 1.5],
  },
  { line: "chat-request.top_p", path: "top_p", takes: ["number"], sound: [0.5], bounds: [0, 1], wrong: [-0.01, 1.01] },
  {
    line: "chat-request.frequency_penalty",
    path: "frequency_penalty",
    takes: ["number"],
    sound: [0],
    bounds: [-2, 2],
    wrong: [-2.01, 2.01],
  },
  {
    line: "chat-request.presence_penalty",
    path: "presence_penalty",
    takes: ["number"],
    sound: [0],
    bounds: [-2, 2],
    wrong: [-2.01, 2.01],
  },
  { line: "chat-request.stream", path: "stream", takes: ["boolean"], sound: [false, true] },
  {
    line: "chat-request.tools",
    path: "tools",
    takes: ["array"],
    sound: [[LOOK], []],
    wrongWithin: [{ value: ["look"], at: "tools[0]" }],
  },
  {
    line: "chat-request.response_format",
    path: "response_format",
    takes: ["object"],
    sound: [{ type: "text" }, { type: "json_object" }, { type: "json_schema", json_schema: SHAPE }],
    wrongWithin: [
      { value: { type: "xml" }, at: "response_format.type" },
      { value: {}, at: "response_format.type", code: "missing_parameter" },
      { value: { type: "json_schema" }, at: "response_format.json_schema", code: "missing_parameter" },
    ],
  },
  {
    line: "chat-request.stop",
    path: "stop",
    takes: ["string", "array"],
    sound: ["END", ["END"], ["END", "STOP"]],
    wrongWithin: [{ value: ["END", 1], at: "stop[1]" }],
  },
]
for (const field of FIELDS) specifyField(field, { style: chat, full, stage: () => stage })

async function refusal(model: unknown): Promise<Record<string, unknown>> {
  const { model: _, ...rest } = full
  const response = await sendRequest(stage, chat, { body: model === undefined ? rest : { ...rest, model } })
  const { code, type, param } = await errorOf(response)
  return { status: response.status, code, type, param }
}

specify("chat-request.model", "is required", async () => {
  const expected = { status: 400, code: "missing_parameter", type: "invalid_request_error", param: "model" }
  expect(await refusal(undefined)).toEqual(expected)
  expect(await refusal(null)).toEqual(expected)
})
specifyEach<unknown>("chat-request.model", ["", 7, true, ["test/first"], { id: "test/first" }], {
  sentence: (model) => `${JSON.stringify(model)} is refused`,
  check: async (model) =>
    expect(await refusal(model)).toMatchObject({ status: 400, code: "invalid_parameter", param: "model" }),
})
specifyEach("chat-request.model", ["test/none", "none/first", "test/", "/first"], {
  sentence: (model) => `${model} is the name of no model`,
  check: async (model) =>
    expect(await refusal(model)).toMatchObject({ status: 400, code: "model_not_found", param: "model" }),
})
specify("chat-request.model", "<provider>/<model-name> reaches the upstream under its name there", async () => {
  expect((await sendRequest(stage, chat, { body: full })).status).toBe(200)
  expect(stage.reached().model).toBe("first")
})

specify("chat-request.stream", "the answer is whole if it is omitted", async () => {
  const { stream: _, ...rest } = full
  const response = await sendRequest(stage, chat, { body: rest })
  expect(response.headers.get("content-type")).toBe("application/json")
  expect(await response.json()).toMatchObject({ object: "chat.completion" })
})
specify("chat-request.stream", "true returns events that end in [DONE]", async () => {
  const response = await sendRequest(stage, chat, { body: { ...full, stream: true } })
  expect(response.headers.get("content-type")).toStartWith("text/event-stream")
  const text = await response.text()
  expect(text).toContain('"object":"chat.completion.chunk"')
  expect(text).toEndWith("data: [DONE]\n\n")
})

const ROLES: readonly [LineId, string, readonly Record<string, unknown>[]][] = [
  ["chat-role.system", "before a user message", [{ role: "system", content: "Be brief." }, USER]],
  ["chat-role.system", "between messages", [USER, { role: "system", content: "Be brief." }, USER]],
  ["chat-role.user", "with a text", [USER]],
  ["chat-role.user", "with parts", [{ role: "user", content: [{ type: "text", text: "How far is the moon?" }] }]],
  ["chat-role.assistant", "with a text", [USER, { role: "assistant", content: "Far." }, USER]],
  [
    "chat-role.assistant",
    "with tool calls and no text",
    [
      USER,
      { role: "assistant", content: null, tool_calls: [CALL] },
      { role: "tool", tool_call_id: "call_1", content: "" },
    ],
  ],
  [
    "chat-role.tool",
    "with the result of a call",
    [
      USER,
      { role: "assistant", content: null, tool_calls: [CALL] },
      { role: "tool", tool_call_id: "call_1", content: "384,400 km" },
    ],
  ],
]
for (const [line, how, messages] of ROLES) {
  specify(line, `is accepted ${how}, and passes unchanged`, async () => {
    const response = await sendRequest(stage, chat, { body: { ...full, messages } })
    expect(response.status).toBe(200)
    expect(stage.reached().messages).toEqual(messages)
  })
}
specify("chat-role.tool", "must name the call it answers", async () => {
  const messages = [USER, { role: "tool", content: "384,400 km" }]
  const response = await sendRequest(stage, chat, { body: { ...full, messages } })
  expect(response.status).toBe(400)
  expect(await errorOf(response)).toMatchObject({ code: "missing_parameter", param: "messages[1].tool_call_id" })
})

nothingForgotten("chat-request")
