// The routing extension, in all three protocols.
import { afterAll, beforeAll, beforeEach, expect } from "bun:test"
import { FIRST, ScriptedGateway, SECOND, THIRD } from "./scripted-gateway.ts"
import { nothingForgotten, specify, specifyEach, specifyLater } from "./specify.ts"
import { errorOf, objectOf, say, VOICES, type Voice } from "./voices.ts"

let stage: ScriptedGateway
beforeAll(async () => {
  stage = await ScriptedGateway.start()
})
beforeEach(() => stage.reset())
afterAll(() => stage.stop())

function ask(voice: Voice, provider: unknown): Promise<Response> {
  return say(stage, voice, { model: FIRST, body: { ...voice.body(FIRST), provider } })
}

async function expectRefused(response: Response, at: string, code = "invalid_parameter"): Promise<void> {
  const error = await errorOf(response)
  expect({ status: response.status, code: error.code }).toEqual({ status: 400, code })
  expect(error.message).toContain(at.startsWith("`") ? at : `\`${at}\``)
  expect(stage.asked()).toEqual([])
}

for (const voice of VOICES) {
  const { name } = voice

  specify("routing.provider", `may be left out, be null or empty, ${name}`, async () => {
    for (const provider of [undefined, null, {}]) expect((await ask(voice, provider)).status).toBe(200)
  })
  specify("routing.provider", `never reaches the upstream, and all else does, ${name}`, async () => {
    expect((await ask(voice, undefined)).status).toBe(200)
    const plain = stage.reached()
    expect((await ask(voice, { routing: "cost", fallback: [SECOND] })).status).toBe(200)
    expect(stage.reached()).toEqual(plain)
    expect(plain).not.toHaveProperty("provider")
  })
  specifyEach<unknown>("routing.provider", ["cost", 7, true, ["cost"]], {
    sentence: (value) => `${JSON.stringify(value)} is refused, ${name}`,
    check: async (value) => expectRefused(await ask(voice, value), "provider"),
  })
  specify("routing.provider", `a member it does not have is refused, ${name}`, async () => {
    await expectRefused(await ask(voice, { route: "cost" }), "provider.route")
  })

  specifyEach("routing.routing", ["cost", "latency", "quality"], {
    sentence: (routing) => `${routing} is taken, ${name}`,
    check: async (routing) => {
      expect((await ask(voice, { routing })).status).toBe(200)
      expect(stage.asked()).toEqual([FIRST])
    },
  })
  specifyEach<unknown>("routing.routing", ["luck", "", "COST", 7, true, ["cost"], { by: "cost" }], {
    sentence: (routing) => `${JSON.stringify(routing)} is refused, ${name}`,
    check: async (routing) => expectRefused(await ask(voice, { routing }), "provider.routing"),
  })

  specify("routing.fallback", `is not asked while the preferred model answers, ${name}`, async () => {
    expect((await ask(voice, { fallback: [SECOND] })).status).toBe(200)
    expect(stage.asked()).toEqual([FIRST])
  })
  specify("routing.fallback", `answers where the preferred model is unavailable, and is named, ${name}`, async () => {
    stage.failFor(FIRST)
    const response = await ask(voice, { fallback: [SECOND, THIRD] })
    expect(response.status).toBe(200)
    expect(stage.asked()).toEqual([FIRST, SECOND])
    expect(response.headers.get("x-gateway-model")).toBe(SECOND)
    const answer = await objectOf(response)
    expect(answer.model ?? answer.modelVersion).toBe(SECOND)
  })
  specify("routing.fallback", `is tried in its order, ${name}`, async () => {
    stage.failFor(FIRST, THIRD)
    const response = await ask(voice, { fallback: [THIRD, SECOND] })
    expect(response.status).toBe(200)
    expect(stage.asked()).toEqual([FIRST, THIRD, SECOND])
  })
  specify("routing.fallback", `that fails as well ends in 503, ${name}`, async () => {
    stage.failFor(FIRST, SECOND)
    const response = await ask(voice, { fallback: [SECOND] })
    expect(response.status).toBe(503)
    expect(stage.asked()).toEqual([FIRST, SECOND])
  })
  specifyEach<unknown>("routing.fallback", ["test/second", 7, true, { first: "test/second" }], {
    sentence: (fallback) => `${JSON.stringify(fallback)} is refused, ${name}`,
    check: async (fallback) => expectRefused(await ask(voice, { fallback }), "provider.fallback"),
  })
  specifyEach<unknown>("routing.fallback", [7, "", null, ["test/second"]], {
    sentence: (entry) => `an entry ${JSON.stringify(entry)} is refused, ${name}`,
    check: async (entry) => expectRefused(await ask(voice, { fallback: [SECOND, entry] }), "provider.fallback[1]"),
  })
  specify("routing.fallback", `an entry that names no model is refused, ${name}`, async () => {
    await expectRefused(await ask(voice, { fallback: ["test/none"] }), "`test/none`", "model_not_found")
  })
}

specifyLater("routing.cost", "the cheapest target is tried first")
specifyLater("routing.latency", "the quickest target is tried first")
specifyLater("routing.quality", "the best target is tried first")

nothingForgotten("routing")
