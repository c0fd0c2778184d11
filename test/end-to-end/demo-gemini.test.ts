// Google's own client library against a gateway without any configuration, the same in each of its versions.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { GenerateContentResponse, GoogleGenAI } from "@google/genai"
import { RunningGateway } from "../stage/gateway.ts"
import { asking, GENAI_VERSIONS } from "./genai-versions.ts"
import { PNG } from "./pictures.ts"

const MODEL = "google/gemini-2.5-flash"

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(() => gateway.stop())

const ASK_WEATHER = "How is the weather in Oslo?"

for (const version of GENAI_VERSIONS) {
  describe(version.name, () => {
    let client: GoogleGenAI

    beforeAll(() => {
      const httpOptions = { baseUrl: `${gateway.url}/gemini` }
      client = new version.GoogleGenAI({ apiKey: gateway.key, httpOptions })
    })

    const { ask, streamed } = asking(() => client, MODEL)

    describe("generating", () => {
      test("an answer has the requested model and repeats the prompt", async () => {
        const answer = await ask("Good morning!")
        expect(answer.modelVersion).toBe(MODEL)
        expect(answer.candidates?.[0]).toMatchObject({ finishReason: "STOP", content: { role: "model" } })
        expect(answer.text).toContain("Good morning!")
      })

      test("a model of another author and a bare name are called in the same way", async () => {
        const names = [
          ["openai/gpt-4o-mini", "openai/gpt-4o-mini"],
          ["models/openai/gpt-4o-mini", "openai/gpt-4o-mini"],
          ["gemini-2.5-flash", MODEL],
        ] as const
        for (const [model, found] of names) {
          expect((await client.models.generateContent({ model, contents: "hi" })).modelVersion).toBe(found)
        }
      })

      test("the Vertex mode of the client, whose path names a publisher, is answered as well", async () => {
        const vertex = new version.GoogleGenAI({
          vertexai: true,
          apiKey: gateway.key,
          httpOptions: { baseUrl: `${gateway.url}/gemini` },
        })
        const answer = await vertex.models.generateContent({ model: "openai/gpt-4o-mini", contents: "hi" })
        expect(answer.modelVersion).toBe("openai/gpt-4o-mini")
      })

      test("the system instruction and earlier turns are processed and counted", async () => {
        const bare = await ask("And now?")
        const answer = await ask(
          [
            { role: "user", parts: [{ text: "One?" }] },
            { role: "model", parts: [{ text: "Two." }] },
            { role: "user", parts: [{ text: "And now?" }] },
          ],
          { systemInstruction: "Answer in one sentence." },
        )
        expect(answer.text).toContain("And now?")
        expect(answer.usageMetadata?.promptTokenCount).toBeGreaterThan(bare.usageMetadata?.promptTokenCount ?? 1e9)
      })

      test("usage counts input and output and adds up", async () => {
        const { usageMetadata } = await ask("One two three four five.")
        const { promptTokenCount = 0, candidatesTokenCount = 0, totalTokenCount } = usageMetadata ?? {}
        expect(promptTokenCount).toBeGreaterThanOrEqual(5)
        expect(candidatesTokenCount).toBeGreaterThan(0)
        expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount)
      })

      test("the token limit ends an answer with the reason MAX_TOKENS", async () => {
        const answer = await ask("hi", { maxOutputTokens: 3 })
        expect(String(answer.candidates?.[0]?.finishReason)).toBe("MAX_TOKENS")
        expect(answer.usageMetadata?.candidatesTokenCount).toBe(3)
      })

      test("a stop sequence ends an answer before it", async () => {
        const answer = await ask("hi", { stopSequences: ["nowhere", "simulator"] })
        expect(String(answer.candidates?.[0]?.finishReason)).toBe("STOP")
        expect(answer.text).not.toContain("simulator")
        expect(answer.text).toMatch(/\S/)
      })

      test("several candidates are numbered and differ", async () => {
        const { candidates = [] } = await ask("hi", { candidateCount: 3 })
        expect(candidates.map(({ index }) => index)).toEqual([0, 1, 2])
        expect(new Set(candidates.map(({ content }) => content?.parts?.[0]?.text)).size).toBe(3)
      })

      test("an image in the request is processed", async () => {
        const inlineData = { mimeType: "image/png", data: PNG }
        const answer = await ask([{ role: "user", parts: [{ inlineData }, { text: "What is this?" }] }])
        expect(answer.text).toContain("You showed an image")
        expect(answer.text).toContain("What is this?")
      })

      test("requested thoughts are shown, counted and signed", async () => {
        const answer = await ask("hi", { thinkingConfig: { includeThoughts: true, thinkingBudget: 512 } })
        const [thought, part] = answer.candidates?.[0]?.content?.parts ?? []
        expect(thought?.thought).toBe(true)
        expect(thought?.text).toMatch(/\S/)
        expect(part?.thoughtSignature).toMatch(/\S/)
        expect(answer.text).toBe(part?.text ?? "")
        const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = answer.usageMetadata ?? {}
        expect(thoughtsTokenCount).toBeGreaterThan(0)
        const total = promptTokenCount + candidatesTokenCount + thoughtsTokenCount
        expect(answer.usageMetadata?.totalTokenCount).toBe(total)
      })
    })

    describe("streams", () => {
      test("the chunks add up to the whole answer, and the last has the finish reason", async () => {
        const chunks = await streamed("Tell me more, in 60 words.")
        const whole = await ask("Tell me more, in 60 words.")
        expect(chunks.length).toBeGreaterThan(3)
        expect(chunks.map(({ text }) => text ?? "").join("")).toBe(whole.text ?? "")
        expect(String(chunks.at(-1)?.candidates?.[0]?.finishReason)).toBe("STOP")
        expect(chunks.at(-1)?.usageMetadata).toMatchObject({ ...whole.usageMetadata })
        expect(new Set(chunks.map(({ modelVersion }) => modelVersion))).toEqual(new Set([MODEL]))
      })

      test("a limit ends a stream with its reason", async () => {
        const last = (await streamed("hi", { maxOutputTokens: 3 })).at(-1)
        expect(String(last?.candidates?.[0]?.finishReason)).toBe("MAX_TOKENS")
      })

      test("a chat accumulates streamed text in its history", async () => {
        const chat = client.chats.create({ model: MODEL })
        let text = ""
        for await (const chunk of await chat.sendMessageStream({ message: "One?" })) text += chunk.text ?? ""
        expect(text).toContain("One?")
        const second = await chat.sendMessage({ message: "Two?" })
        expect(second.text).toContain("Two?")
        expect(chat.getHistory(true).filter(({ role }) => role === "user")).toHaveLength(2)
      })

      test("a stream without SSE is one JSON array, sent element by element", async () => {
        const url = `${gateway.url}/gemini/v1beta/models/${MODEL}:streamGenerateContent`
        const body = JSON.stringify({ contents: [{ parts: [{ text: "hi" }] }] })
        const headers = { "x-goog-api-key": gateway.key, "content-type": "application/json" }
        const response = await fetch(url, { method: "POST", headers, body })
        expect(response.headers.get("content-type")).toStartWith("application/json")
        const chunks = (await response.json()) as GenerateContentResponse[]
        const text = chunks.map(({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text ?? "").join("")
        expect(text).toBe((await ask("hi")).text ?? "")
      })
    })

    describe("counting tokens", () => {
      test("counting tokens counts what a call with the same input would be charged for", async () => {
        const { totalTokens } = await client.models.countTokens({ model: MODEL, contents: ASK_WEATHER })
        expect(totalTokens).toBe((await ask(ASK_WEATHER)).usageMetadata?.promptTokenCount ?? 0)
      })
    })

    describe("models", () => {
      test("the list is read page by page to its end, each model once", async () => {
        const names: string[] = []
        for await (const { name } of await client.models.list({ config: { pageSize: 37 } })) names.push(name ?? "")
        expect(new Set(names).size).toBe(names.length)
        expect(names).toContain("models/openai/gpt-4o-mini")
        const headers = { "x-goog-api-key": gateway.key }
        const response = await fetch(`${gateway.url}/gemini/v1beta/models/count`, { headers })
        expect(await response.json()).toEqual({ count: names.length })
        expect(names.length).toBeGreaterThan(100)
      })

      test("a page has the requested size, and the next one continues after it", async () => {
        const pager = await client.models.list({ config: { pageSize: 3 } })
        const first = pager.page.map(({ name }) => name)
        expect(first).toHaveLength(3)
        expect(pager.hasNextPage()).toBe(true)
        const second = (await pager.nextPage()).map(({ name }) => name)
        expect(second).toHaveLength(3)
        expect(first).not.toContain(second[0])
      })

      test("an entry states the limits and methods of its model", async () => {
        expect(await client.models.get({ model: "openai/gpt-4o-mini" })).toMatchObject({
          name: "models/openai/gpt-4o-mini",
          displayName: expect.any(String),
          inputTokenLimit: 128_000,
          outputTokenLimit: 16_384,
          supportedActions: expect.arrayContaining(["generateContent", "countTokens"]),
        })
      })

      test("an encoded model name resolves alike", async () => {
        for (const path of ["openai%2Fgpt-4o-mini", "openai/gpt-4o-mini"]) {
          const response = await fetch(`${gateway.url}/gemini/v1beta/models/${path}?key=${gateway.key}`)
          expect(await response.json()).toMatchObject({ name: "models/openai/gpt-4o-mini" })
        }
      })
    })
  })
}
