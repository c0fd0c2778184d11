import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { SimulatorServer } from "../../src/simulator/server.ts"
import { ChargeLog, type SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { vendorsConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"

const messages = [{ role: "user", content: "Hello" }]

/** Posts to the gateway in each vendor's words. */
function ask(gateway: InProcessGateway, model: string, stream = false): Promise<Response>[] {
  const headers = {
    authorization: `Bearer ${gateway.key}`,
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
  }
  const post = (path: string, body: object) =>
    fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })
  const contents = [{ role: "user", parts: [{ text: "Hello" }] }]
  const generate = stream ? "streamGenerateContent?alt=sse" : "generateContent"
  return [
    post("/v1/chat/completions", { model, messages, stream }),
    post("/v1/responses", { model, input: "Hello", stream }),
    post("/anthropic/v1/messages", { model, max_tokens: 99, messages, stream }),
    post(`/gemini/v1beta/models/${model}:${generate}`, { contents }),
  ]
}

describe("the simulator in demo mode", () => {
  let gateway: InProcessGateway
  beforeAll(() => {
    gateway = InProcessGateway.start({ config: "" })
  })
  afterAll(() => gateway.stop())

  test("a model fails as its name's suffix requests, in every protocol", async () => {
    for (const answer of ask(gateway, "openai/gpt-4o-mini@status-503")) {
      const response = await answer
      expect(response.status).toBe(503)
      expect(await response.text()).toContain("openai/gpt-4o-mini")
    }
  })

  test("a request without a failure is answered under the model's own name", async () => {
    for (const answer of ask(gateway, "openai/gpt-4o-mini@split-3", true)) {
      const response = await answer
      expect(response.status).toBe(200)
      const text = await response.text()
      expect(text).toContain('"openai/gpt-4o-mini"')
      expect(text).not.toContain("@split-3")
    }
  })

  test("an alias accepts a suffix too, and an unknown word leaves the name unknown", async () => {
    expect((await gateway.chat({ model: "gpt-4o-mini@status-500", messages })).status).toBe(503)
    for (const model of ["gpt-4o-mini@20240718", "gpt-4o-mini@status-50x", "nothing@status-503"]) {
      expect(await (await gateway.chat({ model, messages })).json()).toMatchObject({
        error: { code: "model_not_found" },
      })
    }
  })

  test("a broken stream ends in an error", async () => {
    const response = await gateway.chat({ model: "openai/gpt-4o-mini@cut-after-4", messages, stream: true })
    const text = await response.text()
    expect(text).toContain('data: {"error":')
    expect(text).not.toContain("[DONE]")
  })
})

describe("the simulator with other providers", () => {
  const config = `
providers:
  simulator: {}
  other: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key: "x" }
models:
  - { id: test/both, kind: chat, context_window: 1000, max_output_tokens: 100, pricing: { input: "1", output: "2" }, targets: [
      { provider: other, model: theirs }, { provider: simulator, model: ours }] }
  - { id: test/other, kind: chat, context_window: 1000, max_output_tokens: 100, pricing: { input: "1", output: "2" }, targets: [{ provider: other, model: theirs }] }
`
  let gateway: InProcessGateway
  beforeAll(() => {
    gateway = InProcessGateway.start({ config })
  })
  afterAll(() => gateway.stop())

  test("only the simulator reads a suffix", async () => {
    const failed = await gateway.chat({ model: "test/both@status-529", messages })
    expect(failed.status).toBe(503)
    const { error } = (await failed.json()) as { error: { attempts: unknown[] } }
    expect(error.attempts).toMatchObject(Array(3).fill({ provider: "simulator", status: 529 }))
    const unknown = await gateway.chat({ model: "test/other@status-529", messages })
    expect(await unknown.json()).toMatchObject({ error: { code: "model_not_found" } })
  })
})

test("each call of a gateway to the simulator's server is billed once", async () => {
  const log = new ChargeLog()
  const server = await SimulatorServer.start({ host: "127.0.0.1", port: 0, simulator: { onCharge: log.add } })
  const gateway = InProcessGateway.start({ config: vendorsConfig(server.url) })
  const texts: string[] = []
  for (const stream of [false, true]) {
    for (const answer of ask(gateway, "test/model", stream)) texts.push(await (await answer).text())
  }
  const bills: readonly SimulatedCharge[] = log.charges
  expect(bills.map(({ model, ended }) => ({ model, ended }))).toEqual(
    Array.from({ length: 8 }, () => ({ model: "upstream-model", ended: "complete" })),
  )
  expect(new Set(bills.map(({ id }) => id)).size).toBe(8)
  // The Responses protocol's ids are the gateway's to give; the others' pass.
  for (const { id } of bills.filter(({ path }) => !path.endsWith("/responses"))) {
    expect(texts.filter((text) => text.includes(id))).toHaveLength(1)
  }
  await gateway.stop()
  await server.stop()
})
