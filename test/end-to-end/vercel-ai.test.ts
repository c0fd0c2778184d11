// The Vercel AI SDK through the gateway: each of its providers in its own protocol, to hosts of the same and of other
// protocols.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import {
  embed,
  embedMany,
  generateText,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  Output,
  streamText,
  tool,
} from "ai"
import { z } from "zod"
import { InProcessGateway } from "../stage/in-process.ts"

// It warns of models it does not know, and it knows none of these.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

let gateway: InProcessGateway
beforeAll(() => {
  const model = (id: string, kind: string) =>
    `  - { id: ${id}, kind: ${kind}, max_output_tokens: 4000, ${kind === "chat" ? "reasoning: true, " : ""}pricing: { input: "1", output: "2" }, targets: [{ provider: ${id.split("/")[0]}, model: m }] }`
  const hosts = ["openai-chat", "openai-responses", "anthropic-messages", "gemini-generate"]
  const config = `
admin: { port: 0 }
providers:
${hosts.map((protocol) => `  ${protocol}: { type: simulator, protocols: [${protocol}] }`).join("\n")}
  vectors-openai: { type: simulator, protocols: [openai-embeddings] }
  vectors-gemini: { type: simulator, protocols: [gemini-embed] }
models:
${hosts.map((protocol) => model(`${protocol}/m`, "chat")).join("\n")}
${["vectors-openai/m", "vectors-gemini/m"].map((id) => model(id, "embedding")).join("\n")}
`
  gateway = InProcessGateway.start({ config })
})
afterAll(() => gateway.stop())

const CLIENTS: Readonly<Record<string, (model: string) => LanguageModel>> = {
  "openai chat": (model) => openai().chat(model),
  "openai responses": (model) => openai().responses(model),
  anthropic: (model) => createAnthropic({ apiKey: gateway.key, baseURL: `${gateway.url}/msgapi/v1` })(model),
  google: (model) => google()(model),
}

const openai = () => createOpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, fetch: notingReferences })

/** The number of items that the SDK referenced by their ids. */
let references = 0
const notingReferences: typeof fetch = Object.assign(
  (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    references += String(init?.body).split('"type":"item_reference"').length - 1
    return fetch(input, init)
  },
  { preconnect: fetch.preconnect },
)
const google = () => createGoogleGenerativeAI({ apiKey: gateway.key, baseURL: `${gateway.url}/genapi/v1beta` })

const HOSTS = ["openai-chat", "openai-responses", "anthropic-messages", "gemini-generate"]

describe.each(Object.keys(CLIENTS))("the SDK's %s", (client) => {
  const at = (host: string) => CLIENTS[client]?.(`${host}/m`) as LanguageModel
  const prompt = "Say something about foxes."

  test.each(HOSTS)("the SDK generates text at a host of %s", async (host) => {
    const { text, usage, finishReason } = await generateText({ model: at(host), prompt, system: "Be brief." })
    expect(text.length).toBeGreaterThan(3)
    expect(finishReason).toBe("stop")
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.outputTokens).toBeGreaterThan(0)
  })

  test.each(HOSTS)("the SDK streams the same text from a host of %s, with its usage", async (host) => {
    const streamed = streamText({ model: at(host), prompt })
    const pieces: string[] = []
    for await (const piece of streamed.textStream) pieces.push(piece)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join("")).toBe(await streamed.text)
    expect((await streamed.usage).outputTokens).toBeGreaterThan(0)
  })

  test.each(HOSTS)("the SDK calls a tool and continues with its result, at a host of %s", async (host) => {
    const inputs: unknown[] = []
    const weather = tool({
      description: "The weather of a city.",
      inputSchema: z.object({ city: z.string() }),
      execute: async (input) => {
        inputs.push(input)
        return { celsius: 21 }
      },
    })
    const { steps, text } = await generateText({
      ...{ model: at(host), prompt: "What is the weather in Paris?", tools: { weather }, toolChoice: "required" },
      ...{ stopWhen: isStepCount(2), prepareStep: ({ stepNumber }) => (stepNumber > 0 ? { toolChoice: "none" } : {}) },
    })
    expect(inputs).toEqual([{ city: expect.any(String) }])
    expect(steps).toHaveLength(2)
    expect(text.length).toBeGreaterThan(3)
  })

  test.each(HOSTS)(
    "the SDK continues over three turns, whole and streamed, with thoughts and a tool, at a host of %s",
    async (host) => {
      const weather = tool({
        description: "The weather of a city.",
        inputSchema: z.object({ city: z.string() }),
        execute: async () => ({ celsius: 21 }),
      })
      const providerOptions = {
        openai: { reasoningEffort: "high", reasoningSummary: "auto", forceReasoning: true },
        anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
        google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } },
      } as const
      const model = at(host)
      const messages: ModelMessage[] = [{ role: "user", content: "What is the weather in Paris?" }]
      const called = await generateText({
        model,
        messages,
        providerOptions,
        tools: { weather },
        stopWhen: isStepCount(2),
      })
      messages.push(...called.response.messages, { role: "user", content: prompt })
      const streamed = streamText({ model, messages, providerOptions, tools: { weather }, stopWhen: isStepCount(2) })
      await streamed.consumeStream()
      messages.push(...(await streamed.response).messages, { role: "user", content: "And now?" })
      const before = references
      const { text } = await generateText({ model, messages, providerOptions })
      expect(text.length).toBeGreaterThan(3)
      // Only this client has items to reference.
      expect(references > before).toBe(client === "openai responses")
    },
  )

  test.each(HOSTS)("the SDK gets an object of the requested shape from a host of %s", async (host) => {
    const schema = z.object({ name: z.string(), legs: z.number() })
    const { output } = await generateText({ model: at(host), prompt, output: Output.object({ schema }) })
    expect(schema.parse(output)).toEqual(output)
  })
})

describe.each(["vectors-openai/m", "vectors-gemini/m"])("embeddings of %s", (id) => {
  const models = { openai: () => openai().embeddingModel(id), google: () => google().embeddingModel(id) }

  test.each(Object.keys(models) as (keyof typeof models)[])(
    "the SDK's %s gets one embedding and many",
    async (client) => {
      const model = models[client]()
      const { embedding } = await embed({ model, value: "alpha" })
      expect(embedding.length).toBeGreaterThan(1)
      expect(embedding.every(Number.isFinite)).toBe(true)
      const { embeddings } = await embedMany({ model, values: ["alpha", "beta", "gamma"] })
      expect(embeddings).toHaveLength(3)
      expect(embeddings[0]?.[0]).toBeCloseTo(embedding[0] ?? Number.NaN, 4)
    },
  )
})
