// A request for audio from a model that cannot produce it is rejected before any call, in either lane.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test"
import { geminiResponse } from "../stage/gemini-wire.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: InProcessGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = InProcessGateway.start({
    config: `
providers:
  openai: { api_key: key, base_url: "${upstream.origin}/v1" }
  google: { api_key: key, base_url: "${upstream.origin}" }
models:
  - { id: test/unknown, pricing: { input: "1", output: "2" }, targets: [{ provider: openai, model: unknown }] }
  - { id: test/speaks, pricing: { input: "1", output: "2" }, modalities: { input: [text], output: [text, audio] },
      targets: [{ provider: openai, model: speaks }] }
  - { id: test/writes, pricing: { input: "1", output: "2" }, modalities: { input: [text], output: [text] },
      targets: [{ provider: openai, model: writes }] }
`,
  })
})
beforeEach(() => {
  upstream.requests.length = 0
  upstream.script = (_, reply) => reply.json(completion("Hello."))
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const AUDIO_OUTPUT = { modalities: ["text", "audio"], audio: { voice: "alloy", format: "mp3" } }

async function chat(model: string, more: object = AUDIO_OUTPUT) {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }], ...more }),
  })
  const body = (await answer.json()) as { error: { code: string; param: string; message: string } }
  return { status: answer.status, model: answer.headers.get("x-gateway-model"), body }
}

test.each(["openai/gpt-4o-mini", "test/writes", "google/gemini-2.5-flash"])(
  "a request for audio does not call %s, which produces none",
  async (model) => {
    const { status, body } = await chat(model)
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "modalities"])
    expect(body.error.message).toContain(`\`${model}\``)
    expect(upstream.requests).toEqual([])
  },
)

test("a Gemini request for audio is rejected for a model that produces none", async () => {
  const answer = await fetch(`${gateway.url}/gemini/v1beta/models/google/gemini-2.5-flash:generateContent`, {
    method: "POST",
    headers: { "x-goog-api-key": gateway.key, "content-type": "application/json" },
    body: JSON.stringify({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      generationConfig: { responseModalities: ["AUDIO"] },
    }),
  })
  const { error } = (await answer.json()) as { error: { message: string; details: { reason: string }[] } }
  expect([answer.status, error.details[0]?.reason]).toEqual([400, "unsupported_parameter"])
  expect(error.message).toContain("`generationConfig.responseModalities`")
  expect(upstream.requests).toEqual([])
})

test.each(["test/speaks", "test/unknown"])("a request for audio calls %s", async (model) => {
  expect((await chat(model)).status).toBe(200)
  expect(JSON.parse(upstream.lastRequest().body.toString())).toMatchObject(AUDIO_OUTPUT)
})

test("a fallback that produces audio is called in place of a model that does not", async () => {
  const { status, model } = await chat("test/writes", { ...AUDIO_OUTPUT, provider: { fallback: ["test/speaks"] } })
  expect([status, model, upstream.requests.length]).toEqual([200, "test/speaks", 1])
})

test("a request for text alone is no request for audio", async () => {
  expect((await chat("test/writes", { modalities: ["text"] })).status).toBe(200)
  upstream.script = (_, reply) => reply.json(geminiResponse("Hello.", "STOP"))
  expect((await chat("google/gemini-2.5-flash", { modalities: ["text"] })).status).toBe(200)
})
