// The addresses and names of the three protocols, all reached with one key.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import {
  type ClientStyle,
  chat,
  generate,
  list,
  MODEL,
  messages,
  objectOf,
  type SpecBody,
  STYLES,
  sendRequest,
} from "./client-styles.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let demo: RunningGateway
beforeAll(async () => {
  demo = await RunningGateway.start()
})
afterAll(() => demo.stop())

/** Status of a call and of a listing at another address of the same protocol. */
async function statuses(style: ClientStyle, moved: (path: string) => string): Promise<number[]> {
  const there = { ...style, path: (model: string) => moved(style.path(model)) }
  const answers = [await sendRequest(demo, there), await list(demo, style, moved(style.listPath))]
  return answers.map(({ status }) => status)
}

specifyEach("stand-in.msgapi", ["/msgapi", "/anthropic"], {
  sentence: (prefix) => `${prefix} answers calls and listings`,
  check: async (prefix) =>
    expect(await statuses(messages, (path) => path.replace("/msgapi", prefix))).toEqual([200, 200]),
})

specifyEach("stand-in.genapi", ["/genapi", "/gemini"], {
  sentence: (prefix) => `${prefix} answers calls and listings`,
  check: async (prefix) =>
    expect(await statuses(generate, (path) => path.replace("/genapi", prefix))).toEqual([200, 200]),
})

specifyEach("stand-in.x-gen-api-key", ["x-gen-api-key", "x-goog-api-key"], {
  sentence: (header) => `${header} opens the door`,
  check: async (header) => {
    const style = { ...generate, keyHeader: (key: string) => ({ [header]: key }) }
    expect((await sendRequest(demo, style)).status).toBe(200)
    expect((await list(demo, style)).status).toBe(200)
  },
})
specify("stand-in.x-gen-api-key", "the query parameter `key` is accepted", async () => {
  const query = `?key=${demo.key}`
  const style = { ...generate, keyHeader: () => ({}), path: (model: string) => generate.path(model) + query }
  expect((await sendRequest(demo, style)).status).toBe(200)
  expect((await list(demo, style, generate.listPath + query)).status).toBe(200)
})

specifyEach("stand-in.msg-version", ["msg-version", "anthropic-version"], {
  sentence: (header) => `${header} says the version`,
  check: async (header) => {
    const style = { ...messages, headers: { [header]: "2023-06-01" } }
    expect((await sendRequest(demo, style)).status).toBe(200)
    expect((await list(demo, style)).status).toBe(200)
  },
})

specifyEach("service.models", STYLES, {
  sentence: ({ name }) => `one key is shown more than 100 models of several providers, ${name}`,
  check: async (style) => {
    const names = await listed(style)
    expect(names.length).toBeGreaterThan(100)
    expect(new Set(names.map((name) => name.split("/")[0])).size).toBeGreaterThan(5)
  },
})

async function listed(style: ClientStyle): Promise<string[]> {
  const { data, models } = await objectOf(await list(demo, style))
  const entries = (data ?? models ?? []) as SpecBody[]
  return entries.map(({ id, name }) => String(id ?? name).replace(/^models\//, ""))
}

const BASES = [
  ["service.completions-style", chat, "/v1", "chat/completions"],
  ["service.messages-style", messages, "/msgapi", "v1/messages"],
  ["service.content-generation", generate, "/genapi/v1beta", `models/${MODEL}:generateContent`],
] as const
for (const [line, style, base, below] of BASES) {
  specify(line, `the endpoints that its clients use below ${base} are answered`, async () => {
    expect((await sendRequest(demo, { ...style, path: () => `${base}/${below}` })).status).toBe(200)
  })
}

const NAMED = ["openai/gpt-4o", "anthropic/claude-haiku-4.5", "google/gemini-2.5-flash", MODEL]
for (const style of STYLES) {
  specifyEach("service.model-name", NAMED, {
    sentence: (model) => `${model} is called by that name, ${style.name}`,
    check: async (model) => {
      const response = await sendRequest(demo, style, { model })
      expect(response.status).toBe(200)
      const answer = await objectOf(response)
      expect(answer.model ?? answer.modelVersion).toBe(model)
    },
  })
  specify("service.model-name", `every listed name has a provider and a model name, ${style.name}`, async () => {
    const names = await listed(style)
    expect(names.length).toBeGreaterThan(100)
    expect(names.filter((name) => !/^[a-z0-9-]+\/\S+$/.test(name))).toEqual([])
  })
}

specifyEach("service.routing", STYLES, {
  sentence: ({ name }) => `a request is answered with it and without it, ${name}`,
  check: async (style) => {
    const body = { ...style.body(MODEL), provider: { routing: "cost", fallback: ["openai/gpt-4o"] } }
    expect((await sendRequest(demo, style)).status).toBe(200)
    expect((await sendRequest(demo, style, { body })).status).toBe(200)
  },
})

nothingForgotten("addresses")
