// The bounds of parameters, the limits of models, and the headers of the rate limit.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import { KeyFolder, type StagedKey } from "../stage/keys.ts"
import {
  type ClientStyle,
  chat,
  errorOf,
  generate,
  list,
  messages,
  objectOf,
  type SpecBody,
  sendRequest,
} from "./client-styles.ts"
import type { LineId } from "./lines.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify } from "./specify.ts"

const folder = new KeyFolder()
let demo: RunningGateway
let stage: ScriptedGateway
beforeAll(async () => {
  ;[demo, stage] = await Promise.all([RunningGateway.start({ dataDir: folder.path }), ScriptedGateway.start()])
})
afterAll(async () => {
  await Promise.all([demo.stop(), stage.stop()])
  folder.remove()
})

interface SpecifiedBound {
  readonly line: LineId
  readonly style: ClientStyle
  readonly name: string
  readonly from: number
  readonly to: number
  readonly otherwise?: number
  /** Its path in the body. */
  readonly put: (value: number | undefined) => SpecBody
}

const atTop = (name: string) => (value: number | undefined) => ({ [name]: value })

const BOUNDS: readonly SpecifiedBound[] = [
  {
    line: "bound.chat-temperature",
    style: chat,
    name: "temperature",
    from: 0,
    to: 2,
    otherwise: 1,
    put: atTop("temperature"),
  },
  { line: "bound.chat-top_p", style: chat, name: "top_p", from: 0, to: 1, otherwise: 1, put: atTop("top_p") },
  {
    line: "bound.chat-penalties",
    style: chat,
    name: "frequency_penalty",
    from: -2,
    to: 2,
    put: atTop("frequency_penalty"),
  },
  {
    line: "bound.chat-penalties",
    style: chat,
    name: "presence_penalty",
    from: -2,
    to: 2,
    put: atTop("presence_penalty"),
  },
  {
    line: "bound.messages-temperature",
    style: messages,
    name: "temperature",
    from: 0,
    to: 1,
    otherwise: 1,
    put: atTop("temperature"),
  },
  { line: "bound.messages-top_p", style: messages, name: "top_p", from: 0, to: 1, otherwise: 1, put: atTop("top_p") },
  {
    line: "bound.generate-temperature",
    style: generate,
    name: "generationConfig.temperature",
    from: 0,
    to: 2,
    put: (temperature) => ({ generationConfig: { temperature } }),
  },
]

const STEP = 0.001

async function status({ style, put }: SpecifiedBound, value: number | undefined): Promise<number> {
  stage.reset()
  const response = await sendRequest(stage, style, { model: FIRST, body: { ...style.body(FIRST), ...put(value) } })
  await response.text()
  return response.status
}

for (const bound of BOUNDS) {
  const { line, name, from, to, otherwise, put } = bound
  for (const value of [from, to]) {
    specify(line, `${name} may be ${value}`, async () => {
      expect(await status(bound, value)).toBe(200)
      expect(stage.reached()).toMatchObject(put(value))
    })
  }
  for (const value of [from - STEP, to + STEP]) {
    specify(line, `${name} may not be ${value}`, async () => {
      expect(await status(bound, value)).toBe(400)
      expect(stage.requestedModels()).toEqual([])
    })
  }
  if (otherwise === undefined) continue
  specify(line, `${name} is left to the upstream if omitted, where it is ${otherwise}`, async () => {
    expect(await status(bound, undefined)).toBe(200)
    expect(stage.reached()).not.toHaveProperty(name)
    expect(await answerOf(bound, undefined)).toEqual(await answerOf(bound, otherwise))
  })
}

/** The answer of the demo. */
async function answerOf({ style, put }: SpecifiedBound, value: number | undefined): Promise<unknown> {
  const model = "openai/gpt-4o"
  const answer = await objectOf(
    await sendRequest(demo, style, { model, body: { ...style.body(model), ...put(value) } }),
  )
  const [choice] = (answer.choices ?? []) as SpecBody[]
  return choice?.message ?? answer.content
}

specify("bound.chat-stream", "the answer is whole if omitted, as with false", async () => {
  for (const stream of [undefined, false]) {
    const response = await sendRequest(demo, chat, { body: { ...chat.body("openai/gpt-4o"), stream } })
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(await response.json()).toMatchObject({ object: "chat.completion" })
  }
})

specify("bound.messages-max_tokens", "a request that omits it is rejected", async () => {
  const { max_tokens: _, ...body } = messages.body("openai/gpt-4o")
  const response = await sendRequest(demo, messages, { body })
  expect(response.status).toBe(400)
  expect(await errorOf(response)).toMatchObject({ code: "missing_parameter", param: "max_tokens" })
})

const TIERS = [
  ["token-limit.top-quality", "google/gemini-1.5-pro", 2_097_152, 8192],
  ["token-limit.fast", "google/gemini-1.5-flash", 1_048_576, 8192],
  ["token-limit.lightest", "google/gemini-1.5-flash-8b", 1_048_576, 8192],
] as const
for (const [line, model, inputTokenLimit, outputTokenLimit] of TIERS) {
  specify(line, `${model} takes ${inputTokenLimit} tokens and makes ${outputTokenLimit}`, async () => {
    const entry = await objectOf(await list(demo, generate, `/genapi/v1beta/models/${model}`))
    expect(entry).toMatchObject({ name: `models/${model}`, inputTokenLimit, outputTokenLimit })
    const { models } = await objectOf(await list(demo, generate))
    expect((models as SpecBody[]).find(({ name }) => name === `models/${model}`)).toEqual(entry)
  })
}

/** Later models have larger windows, and show their own. */
const CLAUDES = ["claude-opus-4", "claude-opus-4.1", "claude-opus-4.5", "claude-sonnet-4", "claude-haiku-4.5"]
for (const model of CLAUDES) {
  specify("token-limit.messages-style", `anthropic/${model} takes 200000 tokens`, async () => {
    const entry = await objectOf(await list(demo, messages, `/msgapi/v1/models/anthropic/${model}`))
    expect(entry).toMatchObject({ id: `anthropic/${model}`, max_input_tokens: 200_000 })
  })
}

const HEADERS = [
  ["x-ratelimit-limit-requests", "is the key's limit", /^1$/],
  ["x-ratelimit-remaining-requests", "is 0", /^0$/],
  ["x-ratelimit-reset-requests", "is a duration with its unit", /^\d+(\.\d+)?(ms|s|m)$/],
] as const
for (const [header, what, form] of HEADERS) {
  for (const style of [chat, messages, generate]) {
    specify(
      `rate-limit.${header}`,
      `${what} where one request a minute was allowed and two came, ${style.name}`,
      async () => {
        const { key } = await hasty()
        expect((await sendRequest(demo, style, { key })).status).toBe(200)
        const response = await sendRequest(demo, style, { key })
        expect(response.status).toBe(429)
        expect(response.headers.get(header)).toMatch(form)
      },
    )
  }
}

/** A new key that may send one request a minute. */
function hasty(): Promise<StagedKey> {
  return folder.create("hasty", "--rpm", "1")
}

nothingForgotten("limits")
