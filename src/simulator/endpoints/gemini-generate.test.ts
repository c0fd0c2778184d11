import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { call, clockTool, events, json, weatherInput, weatherTool, words } from "../simulator.fixture.ts"
import { createSimulator } from "../simulator.ts"

const MODEL = "/v1beta/models/google/gemini-2.5-pro"
const hello = { contents: [{ role: "user", parts: [{ text: "Hello" }] }] }
const declared = [weatherTool, clockTool].map(({ name, description, schema }) => {
  return { name, description, parametersJsonSchema: schema }
})
const tools = [{ functionDeclarations: declared }]

interface GeminiPart extends JsonObject {
  text: string
}
interface GeminiCandidate {
  content: { parts?: GeminiPart[]; role: string }
  finishReason?: string
  index: number
}
interface GeminiUsage {
  promptTokenCount: number
  candidatesTokenCount: number
  totalTokenCount: number
  thoughtsTokenCount?: number
  cachedContentTokenCount?: number
}
interface GeminiAnswer {
  candidates: GeminiCandidate[]
  usageMetadata: GeminiUsage
  modelVersion: string
  responseId: string
}

const generate = (body: JsonObject, send = createSimulator()) =>
  json<GeminiAnswer>(`${MODEL}:generateContent`, body, send)

async function stream(body: JsonObject): Promise<GeminiAnswer[]> {
  const sent = await events<GeminiAnswer>(`${MODEL}:streamGenerateContent?alt=sse`, body)
  return sent.flatMap(({ data }) => data ?? [])
}

/** Joins chunks into one answer: adjacent texts of the same kind are joined, empty ones only carry a signature. */
function fold(chunks: readonly GeminiAnswer[]): GeminiAnswer {
  const candidates: GeminiCandidate[] = []
  for (const { content, finishReason, index } of chunks.flatMap((chunk) => chunk.candidates)) {
    const candidate = candidates[index] ?? { content: { role: content.role }, index }
    candidates[index] = candidate
    for (const part of content.parts ?? []) {
      if (part.text === "") continue
      const parts = candidate.content.parts ?? []
      candidate.content.parts = parts
      const last = parts.at(-1)
      const joins = last?.text !== undefined && part.text !== undefined && last.thought === part.thought
      if (joins) parts[parts.length - 1] = { ...last, ...part, text: last.text + part.text }
      else parts.push(part)
    }
    if (finishReason) candidate.finishReason = finishReason
  }
  const last = chunks.at(-1)
  if (!last) throw new Error("no chunks")
  return { ...last, candidates }
}

test("a simulated response has Google's shape", async () => {
  expect((await generate(hello)) as unknown).toEqual({
    candidates: [
      {
        content: {
          parts: [{ text: expect.stringContaining("google/gemini-2.5-pro") as unknown as string }],
          role: "model",
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 1,
      candidatesTokenCount: 30,
      totalTokenCount: 31,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 1 }],
    },
    modelVersion: "google/gemini-2.5-pro",
    responseId: expect.any(String) as unknown as string,
  })
})

describe("a stream", () => {
  const requests: Record<string, JsonObject> = {
    "for text": hello,
    "for several candidates": { ...hello, generationConfig: { candidateCount: 2 } },
    "for thoughts": { ...hello, generationConfig: { thinkingConfig: { includeThoughts: true } } },
    "for thoughts that are not shown": { ...hello, generationConfig: { thinkingConfig: { thinkingBudget: 100 } } },
    "for calls": { contents: [{ parts: [{ text: "weather and clock" }] }], tools },
    "for a call and thoughts": {
      contents: [{ parts: [{ text: "weather" }] }],
      tools,
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    },
    "for a schema": {
      ...hello,
      generationConfig: { responseMimeType: "application/json", responseJsonSchema: weatherTool.schema },
    },
    "for a stop sequence": { ...hello, generationConfig: { stopSequences: ["simulator"] } },
    "for a limit that thoughts use up": {
      ...hello,
      generationConfig: { maxOutputTokens: 4, thinkingConfig: { thinkingBudget: -1 } },
    },
  }
  test.each(Object.entries(requests))("a Gemini stream %s adds up to the whole response", async (_, body) => {
    const whole = await generate(body)
    const chunks = await stream(body)
    expect(fold(chunks)).toEqual(whole)
    const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount = 0, totalTokenCount } = whole.usageMetadata
    expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount)
    const response = await call(`${MODEL}:streamGenerateContent`, body)
    expect(response.headers.get("content-type")).toStartWith("application/json")
    expect((await response.json()) as GeminiAnswer[]).toEqual(chunks)
  })
})

test("a Gemini stream ends with its last chunk, and every chunk reports the usage so far", async () => {
  const chunks = await stream(hello)
  expect(chunks.map(({ usageMetadata }) => usageMetadata.candidatesTokenCount)).toEqual([8, 16, 24, 30, 30])
  expect(chunks.map(({ candidates }) => candidates[0]?.finishReason)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    "STOP",
  ])
})

test("thoughts are shown on request, signed, and counted separately", async () => {
  const { candidates, usageMetadata } = await generate({
    ...hello,
    generation_config: { thinking_config: { include_thoughts: true } },
  })
  const [thought, answer] = candidates[0]?.content.parts ?? []
  expect(thought).toMatchObject({ thought: true })
  expect(String(answer?.thoughtSignature).length).toBeGreaterThan(20)
  expect(usageMetadata.candidatesTokenCount).toBe(30)
  expect(usageMetadata.thoughtsTokenCount).toBeGreaterThan(0)
  const off = await generate({
    ...hello,
    generationConfig: { thinkingConfig: { thinkingBudget: 0, includeThoughts: true } },
  })
  expect(off.usageMetadata).not.toHaveProperty("thoughtsTokenCount")
})

describe("functions", () => {
  const calling = (body: JsonObject) => generate({ ...hello, tools, ...body })

  test("an allowed function is called if a call is required", async () => {
    const config = { mode: "ANY", allowedFunctionNames: ["get_weather"] }
    const { candidates } = await calling({ toolConfig: { functionCallingConfig: config } })
    expect(candidates[0]?.finishReason).toBe("STOP")
    const parts: unknown = candidates[0]?.content.parts
    expect(parts).toMatchObject([{ functionCall: { name: "get_weather", args: weatherInput } }])
  })

  test("functions are read in the older spelling", async () => {
    const parameters = { type: "OBJECT", properties: { city: { type: "STRING" } }, required: ["city"] }
    const { candidates } = await generate({
      contents: [{ role: "user", parts: [{ text: "weather" }] }],
      tools: [{ function_declarations: [{ name: "get_weather", parameters }] }],
    })
    const parts: unknown = candidates[0]?.content.parts
    expect(parts).toMatchObject([{ functionCall: { args: { city: "simulated city" } } }])
  })

  test("function responses are quoted", async () => {
    const { candidates } = await calling({
      contents: [
        { role: "user", parts: [{ text: "weather?" }] },
        { role: "model", parts: [{ functionCall: { name: "get_weather", args: {} } }] },
        { role: "user", parts: [{ functionResponse: { name: "get_weather", response: { output: "18 degrees" } } }] },
      ],
    })
    expect(candidates[0]?.content.parts?.[0]?.text).toContain('"18 degrees"')
  })
})

test("a Google schema is obeyed, and an enumeration is answered without quotation marks", async () => {
  const answerText = async (generationConfig: JsonObject) => {
    return (await generate({ ...hello, generationConfig })).candidates[0]?.content.parts?.[0]?.text ?? ""
  }
  const responseSchema = { type: "OBJECT", properties: { n: { type: "INTEGER" } }, required: ["n"] }
  expect(JSON.parse(await answerText({ responseMimeType: "application/json", responseSchema }))).toEqual({ n: 1 })
  const choice = { type: "STRING", enum: ["red", "green"] }
  expect(await answerText({ response_mime_type: "text/x.enum", response_schema: choice })).toBe("red")
})

test("a response that reached its limit finishes with MAX_TOKENS", async () => {
  const { candidates } = await generate({ ...hello, generationConfig: { maxOutputTokens: 2 } })
  expect(candidates[0]).toMatchObject({
    finishReason: "MAX_TOKENS",
    content: { parts: [{ text: "This is" }] },
  } as GeminiCandidate)
})

test("a long Gemini prompt that is sent again is cached, and still counts as input", async () => {
  const send = createSimulator()
  const body = { ...hello, system_instruction: { parts: [{ text: words(1024) }] } }
  expect((await generate(body, send)).usageMetadata).not.toHaveProperty("cachedContentTokenCount")
  expect((await generate(body, send)).usageMetadata).toMatchObject({
    promptTokenCount: 1025,
    cachedContentTokenCount: 1024,
  })
})

test("tokens are counted for contents and for a whole request", async () => {
  const counted = { totalTokens: 1, promptTokensDetails: [{ modality: "TEXT", tokenCount: 1 }] }
  expect(await json<JsonObject>(`${MODEL}:countTokens`, hello)).toEqual(counted)
  expect(await json<JsonObject>(`${MODEL}:countTokens`, { generateContentRequest: hello })).toEqual(counted)
})

test("the model is found in every form of Google's paths", async () => {
  const forms = [
    "/v1beta/models/google%2Fx",
    "/v1beta/google/x",
    "/v1beta1/publishers/a/models/google/x",
    "/models/google/x",
  ]
  for (const form of forms) {
    expect((await json<GeminiAnswer>(`${form}:generateContent`, hello)).modelVersion).toBe("google/x")
  }
})

test("a request without contents is refused in Google's shape", async () => {
  const response = await call(`${MODEL}:streamGenerateContent?alt=sse`, {})
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT" } })
})

describe("a picture", () => {
  const IMAGES = "/v1beta/models/google/gemini-2.5-flash-image"
  const settings = { generationConfig: { responseModalities: ["TEXT", "IMAGE"] } }
  const partsOf = ({ candidates }: GeminiAnswer) => candidates.flatMap(({ content }) => content.parts ?? [])
  const drawn = (parts: readonly GeminiPart[]) => parts.filter((part) => "inlineData" in part)

  test("image models draw a picture, whole and streamed, and count its tokens", async () => {
    const answer = await json<GeminiAnswer>(`${IMAGES}:generateContent`, { ...hello, ...settings })
    const [part] = drawn(partsOf(answer)) as unknown as { inlineData: { mimeType: string; data: string } }[]
    expect(part?.inlineData.mimeType).toBe("image/png")
    expect(Buffer.from(part?.inlineData.data ?? "", "base64").toString("latin1", 1, 4)).toBe("PNG")
    expect(answer.usageMetadata.candidatesTokenCount).toBeGreaterThan(1000)
    const streamed = await (await call(`${IMAGES}:streamGenerateContent?alt=sse`, { ...hello, ...settings })).text()
    expect(streamed.split('"inlineData"')).toHaveLength(2)
  })

  test("no picture is drawn by other models, or if only text is requested", async () => {
    const textAlone = { generationConfig: { responseModalities: ["TEXT"] } }
    for (const [model, body] of [
      [MODEL, hello],
      [IMAGES, { ...hello, ...textAlone }],
    ] as const) {
      const answer = await json<GeminiAnswer>(`${model}:generateContent`, body)
      expect(drawn(partsOf(answer))).toHaveLength(0)
    }
  })
})
