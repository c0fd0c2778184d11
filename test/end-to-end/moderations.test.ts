// POST /v1/moderations: relayed to hosts that have it, and rejected for all others.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import { SimulatorServer } from "../../src/simulator/server.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let simulator: SimulatorServer
let gateway: RunningGateway
let client: OpenAI

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  simulator = await SimulatorServer.start({ host: "127.0.0.1", port: 0 })
  const config = `
providers:
  openai: { base_url: "${upstream.baseUrl}", api_key: "upstream-credential" }
  mistral: { base_url: "${upstream.baseUrl}", api_key: "upstream-credential" }
  simulated: { type: openai-compatible, base_url: "${simulator.url}/v1" }
  claude: { type: anthropic-compatible, base_url: "${upstream.origin}", api_key: "upstream-credential" }
models:
  - { id: mistral/judge, kind: moderation, pricing: { input: "0.1" }, targets: [{ provider: mistral, model: mistral-moderation-latest }] }
  - { id: test/simulated, kind: moderation, pricing: { input: "1" }, targets: [{ provider: simulated, model: judge }] }
  - { id: test/flat, kind: moderation, pricing: { input: "0", per_request: "0.002" }, targets: [{ provider: simulated, model: judge }] }
  - { id: test/elsewhere, kind: moderation, pricing: { input: "1" }, targets: [{ provider: claude, model: judge }] }
  - { id: test/chat, kind: chat, pricing: { input: "1", output: "1" }, targets: [{ provider: simulated, model: base }] }
`
  gateway = await RunningGateway.start({ config })
  client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.stop()
  await simulator.stop()
  await upstream.stop()
})

function ask(body: object): Promise<Response> {
  return fetch(`${gateway.url}/v1/moderations`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
}

const JUDGED = '"results":[{"flagged":true,"categories":{"violence":true},"category_scores":{"violence":0.9}}]'

async function receipt({ headers }: Response): Promise<unknown> {
  const url = `${gateway.url}/v1/receipts/${headers.get("x-request-id")}`
  return (await fetch(url, { headers: { authorization: `Bearer ${gateway.key}` } })).json()
}

describe("a moderation result", () => {
  test("an OpenAI moderation result passes with only the name changed, and is free", async () => {
    upstream.script = (_, reply) => reply.raw(`{"id":"modr-1", "model":"omni-moderation-2024-09-26", ${JUDGED}}`)
    const answer = await ask({ input: "I fight", provider: { fallback: [] } })
    expect(await answer.text()).toBe(`{"id":"modr-1", "model":"openai/omni-moderation-latest", ${JUDGED}}`)
    expect(upstream.lastRequest()).toMatchObject({ method: "POST", path: "/v1/moderations" })
    expect(JSON.parse(upstream.lastRequest().body.toString())).toEqual({
      model: "omni-moderation-latest",
      input: "I fight",
    })
    expect(answer.headers.get("x-gateway-cost")).toBe("0")
    expect(await receipt(answer)).toMatchObject({ outcome: "settled", cost: "0", facts: { basis: "estimated" } })
  })

  test("a moderation result is charged by the usage that its host reports", async () => {
    const usage = '"usage":{"prompt_tokens":40,"completion_tokens":0,"total_tokens":40}'
    upstream.script = (_, reply) => reply.raw(`{"id":"1","model":"mistral-moderation-2411",${JUDGED},${usage}}`)
    const answer = await ask({ model: "mistral/judge", input: ["I fight"] })
    expect(answer.headers.get("x-gateway-cost")).toBe("0.000004")
    expect(await receipt(answer)).toMatchObject({ cost: "0.000004", usage: { input: 40 }, as_booked: true })
  })

  test("a moderation result is charged by a local count or by a price per call if its host reports no usage", async () => {
    const counted = await ask({ model: "test/simulated", input: "one two three four" })
    const cost = Number(counted.headers.get("x-gateway-cost"))
    expect(cost).toBeGreaterThan(0.000001)
    expect(cost).toBeLessThan(0.00001)
    expect((await ask({ model: "test/flat", input: "one" })).headers.get("x-gateway-cost")).toBe("0.002")
  })

  test("the official client reads moderation results of one text, of several, and of parts", async () => {
    const one = await client.moderations.create({ model: "test/simulated", input: "all is well" })
    expect(one).toMatchObject({ model: "test/simulated", results: [{ flagged: false }] })
    const two = await client.moderations.create({ model: "test/simulated", input: ["well", "pure violence"] })
    expect(two.results.map(({ flagged }) => flagged)).toEqual([false, true])
    expect(two.results[1]?.categories.violence).toBe(true)
    const parts = [
      { type: "text" as const, text: "hate" },
      { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } },
    ]
    const mixed = await client.moderations.create({ model: "test/simulated", input: parts })
    expect(mixed.results).toMatchObject([{ flagged: true, categories: { hate: true } }])
  })
})

describe("invalid moderation requests", () => {
  test("a moderation with another kind of model, and a moderation model elsewhere, are rejected", async () => {
    const chat = await rejectionOf(client.moderations.create({ model: "test/chat", input: "x" }))
    expect(chat).toMatchObject({ status: 400, param: "model" })
    const talk = { model: "test/simulated", messages: [{ role: "user" as const, content: "x" }] }
    const talked = await rejectionOf(client.chat.completions.create(talk))
    expect(talked).toMatchObject({ status: 400, param: "model" })
    expect(String(talked)).toContain("/v1/moderations")
  })

  test("a moderation is rejected without a call if no provider of the model serves it", async () => {
    const before = upstream.requests.length
    const refused = await rejectionOf(client.moderations.create({ model: "test/elsewhere", input: "x" }))
    expect(refused).toMatchObject({ status: 400, code: "model_not_found" })
    expect(upstream.requests.length).toBe(before)
  })
})

test("moderation models are listed", async () => {
  const listed: string[] = []
  for await (const { id } of client.models.list()) listed.push(id)
  expect(listed).toContain("test/simulated")
  expect(listed).not.toContain("test/elsewhere")
})
