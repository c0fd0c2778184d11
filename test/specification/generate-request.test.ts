// The members of a content-generation request.
import { afterAll, beforeAll, expect } from "bun:test"
import { errorOf, generate, sendRequest } from "./client-styles.ts"
import { type RequestField, specifyField } from "./fields.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let stage: ScriptedGateway
beforeAll(async () => {
  stage = await ScriptedGateway.start()
})
afterAll(() => stage.stop())

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const LOOK = { functionDeclarations: [{ name: "look", description: "Looks.", parameters: { type: "OBJECT" } }] }
const USER = { role: "user", parts: [{ text: "How far is the moon?" }] }

const full = {
  contents: [USER],
  systemInstruction: { parts: [{ text: "Be brief." }] },
  generationConfig: { temperature: 0.7, maxOutputTokens: 50, topP: 0.9, topK: 40 },
  tools: [LOOK],
}

const FIELDS: readonly RequestField[] = [
  {
    line: "generate-request.contents",
    path: "contents",
    takes: ["array"],
    required: true,
    sound: [[USER], [{ parts: [{ text: "hi" }] }], [USER, { role: "model", parts: [{ text: "Far." }] }, USER]],
    wrong: [[]],
    wrongWithin: [
      { value: ["hi"], at: "contents[0]" },
      { value: [{ role: "king", parts: [{ text: "hi" }] }], at: "contents[0].role" },
    ],
  },
  {
    line: "generate-request.contents[].parts",
    path: "contents[0].parts",
    takes: ["array"],
    required: true,
    sound: [
      [{ text: "How far is the moon?" }],
      [{ text: "What is this?" }, { inline_data: { mime_type: "image/png", data: PIXEL } }],
      [{ inlineData: { mimeType: "image/png", data: PIXEL } }],
    ],
    wrongWithin: [
      { value: ["hi"], at: "contents[0].parts[0]" },
      { value: [{ text: 7 }], at: "contents[0].parts[0].text" },
      { value: [{ inline_data: "png" }], at: "contents[0].parts[0].inline_data" },
    ],
  },
  {
    line: "generate-request.systemInstruction",
    path: "systemInstruction",
    takes: ["object"],
    sound: [
      { parts: [{ text: "Be brief." }] },
      { role: "system", parts: [{ text: "Be brief." }, { text: "Be kind." }] },
    ],
  },
  {
    line: "generate-request.generationConfig.temperature",
    path: "generationConfig.temperature",
    takes: ["number"],
    sound: [1],
    bounds: [0, 2],
    wrong: [-0.01, 2.01],
  },
  {
    line: "generate-request.generationConfig.maxOutputTokens",
    path: "generationConfig.maxOutputTokens",
    takes: ["number"],
    sound: [8192],
    bounds: [1],
    wrong: [0, -1, 1.5],
  },
  {
    line: "generate-request.generationConfig.topP",
    path: "generationConfig.topP",
    takes: ["number"],
    sound: [0.5],
    bounds: [0, 1],
    wrong: [-0.01, 1.01],
  },
  {
    line: "generate-request.generationConfig.topK",
    path: "generationConfig.topK",
    takes: ["number"],
    sound: [1, 40],
    wrong: [-1, 1.5],
  },
  {
    line: "generate-request.tools",
    path: "tools",
    takes: ["array"],
    sound: [[LOOK], []],
    wrongWithin: [{ value: ["look"], at: "tools[0]" }],
  },
]
for (const field of FIELDS) specifyField(field, { style: generate, full, stage: () => stage })

specifyEach("generate-request.generationConfig.temperature", [undefined, {}], {
  sentence: (config) =>
    `may be left out with ${config ? "nothing else in generationConfig" : "generationConfig as a whole"}`,
  check: async (generationConfig) =>
    expect((await sendRequest(stage, generate, { model: FIRST, body: { ...full, generationConfig } })).status).toBe(
      200,
    ),
})
specifyEach<unknown>("generate-request.generationConfig.temperature", ["hot", 7, true, [1]], {
  sentence: (config) => `a generationConfig of ${JSON.stringify(config)} is refused`,
  check: async (generationConfig) => {
    const response = await sendRequest(stage, generate, { model: FIRST, body: { ...full, generationConfig } })
    expect(response.status).toBe(400)
    expect((await errorOf(response)).message).toContain("`generationConfig`")
  },
})

specify("generate-request.systemInstruction", "may be spelled system_instruction", async () => {
  const { systemInstruction, ...rest } = full
  const body = { ...rest, system_instruction: systemInstruction }
  expect((await sendRequest(stage, generate, { model: FIRST, body })).status).toBe(200)
  expect(stage.reached().system_instruction).toEqual(systemInstruction)
})

nothingForgotten("generate-request")
