// The routing extension, in all three protocols.
import { afterAll, beforeAll, beforeEach, expect } from "bun:test"
import { InProcessGateway } from "../stage/in-process.ts"
import { type ClientStyle, errorOf, objectOf, STYLES, sendRequest } from "./client-styles.ts"
import { AT_HOME, FIRST, ScriptedGateway, SECOND, THIRD } from "./scripted-gateway.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let stage: ScriptedGateway
beforeAll(async () => {
  stage = await ScriptedGateway.start()
})
beforeEach(() => stage.reset())
afterAll(() => stage.stop())

function ask(style: ClientStyle, provider: unknown, model = FIRST): Promise<Response> {
  return sendRequest(stage, style, { model, body: { ...style.body(model), provider } })
}

async function expectRefused(response: Response, at: string, code = "invalid_parameter"): Promise<void> {
  const error = await errorOf(response)
  expect({ status: response.status, code: error.code }).toEqual({ status: 400, code })
  expect(error.message).toContain(at.startsWith("`") ? at : `\`${at}\``)
  expect(stage.requestedModels()).toEqual([])
}

for (const style of STYLES) {
  const { name } = style

  specify("routing.provider", `may be left out, be null or empty, ${name}`, async () => {
    for (const provider of [undefined, null, {}]) expect((await ask(style, provider)).status).toBe(200)
  })
  specify("routing.provider", `never reaches the upstream, and all else does, ${name}`, async () => {
    expect((await ask(style, undefined, AT_HOME[name])).status).toBe(200)
    const plain = stage.reached()
    expect((await ask(style, { routing: "cost", fallback: [SECOND] }, AT_HOME[name])).status).toBe(200)
    expect(stage.reached()).toEqual(plain)
    expect(plain).not.toHaveProperty("provider")
  })
  specifyEach<unknown>("routing.provider", ["cost", 7, true, ["cost"]], {
    sentence: (value) => `${JSON.stringify(value)} is refused, ${name}`,
    check: async (value) => expectRefused(await ask(style, value), "provider"),
  })
  specify("routing.provider", `a member it does not have is refused, ${name}`, async () => {
    await expectRefused(await ask(style, { route: "cost" }), "provider.route")
  })

  specifyEach("routing.routing", ["cost", "latency", "quality"], {
    sentence: (routing) => `${routing} is taken, ${name}`,
    check: async (routing) => {
      expect((await ask(style, { routing })).status).toBe(200)
      expect(stage.requestedModels()).toEqual([FIRST])
    },
  })
  specifyEach<unknown>("routing.routing", ["luck", "", "COST", 7, true, ["cost"], { by: "cost" }], {
    sentence: (routing) => `${JSON.stringify(routing)} is refused, ${name}`,
    check: async (routing) => expectRefused(await ask(style, { routing }), "provider.routing"),
  })

  specify("routing.fallback", `is not called while the preferred model answers, ${name}`, async () => {
    expect((await ask(style, { fallback: [SECOND] })).status).toBe(200)
    expect(stage.requestedModels()).toEqual([FIRST])
  })
  specify("routing.fallback", `answers where the preferred model is unavailable, and is named, ${name}`, async () => {
    stage.failFor(FIRST)
    const response = await ask(style, { fallback: [SECOND, THIRD] })
    expect(response.status).toBe(200)
    expect(stage.requestedModels()).toEqual([FIRST, SECOND])
    expect(response.headers.get("x-gateway-model")).toBe(SECOND)
    const answer = await objectOf(response)
    expect(answer.model ?? answer.modelVersion).toBe(SECOND)
  })
  specify("routing.fallback", `is tried in its order, ${name}`, async () => {
    stage.failFor(FIRST, THIRD)
    const response = await ask(style, { fallback: [THIRD, SECOND] })
    expect(response.status).toBe(200)
    expect(stage.requestedModels()).toEqual([FIRST, THIRD, SECOND])
  })
  specify("routing.fallback", `that fails as well ends in 503, ${name}`, async () => {
    stage.failFor(FIRST, SECOND)
    const response = await ask(style, { fallback: [SECOND] })
    expect(response.status).toBe(503)
    expect(stage.requestedModels()).toEqual([FIRST, SECOND])
  })
  specifyEach<unknown>("routing.fallback", ["test/second", 7, true, { first: "test/second" }], {
    sentence: (fallback) => `${JSON.stringify(fallback)} is refused, ${name}`,
    check: async (fallback) => expectRefused(await ask(style, { fallback }), "provider.fallback"),
  })
  specifyEach<unknown>("routing.fallback", [7, "", null, ["test/second"]], {
    sentence: (entry) => `an entry ${JSON.stringify(entry)} is refused, ${name}`,
    check: async (entry) => expectRefused(await ask(style, { fallback: [SECOND, entry] }), "provider.fallback[1]"),
  })
  specify("routing.fallback", `an entry that names no model is refused, ${name}`, async () => {
    await expectRefused(await ask(style, { fallback: ["test/none"] }), "`test/none`", "model_not_found")
  })
}

/** Two providers of one model, and a group of two models: the strategy selects the one that answers. */
function choice(): InProcessGateway {
  const targets = (prices: readonly [string, string]) =>
    prices.map((price, at) => `{ provider: p${at}, model: m, pricing: { input: "${price}", output: "${price}" } }`)
  return InProcessGateway.start({
    config: `
admin: { port: 0 }
providers: { p0: { type: simulator }, p1: { type: simulator } }
models:
  - { id: t/priced, targets: [${targets(["9", "1"])}] }
  - { id: t/plain, quality: 20, pricing: { input: "1", output: "1" }, targets: [{ provider: p0, model: "m@first-token-ms-80" }] }
  - { id: t/fine, quality: 90, pricing: { input: "9", output: "9" }, targets: [{ provider: p1, model: m }] }
groups:
  - { id: t/group, models: [t/plain, t/fine] }
`,
  })
}

async function chosen(gateway: InProcessGateway, model: string, routing: string): Promise<string | null> {
  const answer = await gateway.chat({ model, messages: [{ role: "user", content: "Hi" }], provider: { routing } })
  await answer.text()
  return answer.headers.get(model === "t/group" ? "x-gateway-model" : "x-gateway-provider")
}

specify("routing.cost", "the cheapest target is tried first, of a model and of a group", async () => {
  await using gateway = choice()
  expect(await chosen(gateway, "t/priced", "cost")).toBe("p1")
  expect(await chosen(gateway, "t/group", "cost")).toBe("t/plain")
})
specify("routing.latency", "the quickest target is tried first, once it is known", async () => {
  await using gateway = choice()
  for (const model of ["t/plain", "t/fine"])
    for (let each = 0; each < 5; each++) await chosen(gateway, model, "latency")
  const answered: (string | null)[] = []
  for (let each = 0; each < 20; each++) answered.push(await chosen(gateway, "t/group", "latency"))
  // Now and then it looks whether the others have become quicker.
  expect(answered.filter((model) => model === "t/fine").length).toBeGreaterThanOrEqual(15)
})
specify("routing.quality", "the best target is tried first", async () => {
  await using gateway = choice()
  expect(await chosen(gateway, "t/group", "quality")).toBe("t/fine")
})

nothingForgotten("routing")
