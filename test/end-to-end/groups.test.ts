// Groups and the options of the `provider` object, through a gateway.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { InProcessGateway } from "../stage/in-process.ts"

let gateway: InProcessGateway
beforeAll(() => {
  gateway = InProcessGateway.start({
    config: `
admin: { port: 0 }
providers:
  dear: { type: simulator }
  cheap: { type: simulator }
models:
  - { id: t/large, targets: [
      { provider: dear, model: m, pricing: { input: "9", output: "9" } },
      { provider: cheap, model: m, priority: 2, pricing: { input: "1", output: "1" } }] }
  - { id: t/small, targets: [{ provider: cheap, model: s, pricing: { input: "0.1", output: "0.1" } }] }
groups:
  - { id: auto/any, models: [t/large, t/small], routing: cost }
`,
  })
})
afterAll(() => gateway.stop())

async function requestModel(model: string, provider?: object) {
  const answer = await gateway.chat({ model, messages: [{ role: "user", content: "Hi" }], provider })
  const { headers, status } = answer
  const { error } = (await answer.json()) as { error?: { code: string; param: string; message: string } }
  return { status, from: `${headers.get("x-gateway-model")} at ${headers.get("x-gateway-provider")}`, error }
}

test("a group selects between its models by its strategy", async () => {
  expect(await requestModel("auto/any")).toMatchObject({ status: 200, from: "t/small at cheap" })
  expect(await requestModel("t/large")).toMatchObject({ status: 200, from: "t/large at dear" })
})

test("the `provider` options select the target", async () => {
  expect((await requestModel("t/large", { routing: "cost" })).from).toBe("t/large at cheap")
  expect((await requestModel("t/large", { order: ["cheap"] })).from).toBe("t/large at cheap")
  expect((await requestModel("t/large", { ignore: ["dear"] })).from).toBe("t/large at cheap")
  expect((await requestModel("t/large", { max_price: { prompt: 2 } })).from).toBe("t/large at cheap")
})

test("a request whose options exclude every provider is rejected", async () => {
  const { status, error } = await requestModel("t/large", { only: ["nobody"] })
  expect([status, error?.code, error?.param]).toEqual([400, "model_not_found", "provider"])
  expect(error?.message).toContain("dear (only), cheap (only)")
})
