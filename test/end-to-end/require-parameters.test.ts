// `provider.require_parameters` and `provider.report`.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { anthropicMessage, anthropicWords } from "../stage/anthropic-wire.ts"
import { ExplainStage, HI } from "./explain-stage.ts"

let stage: ExplainStage
beforeAll(async () => {
  stage = await ExplainStage.start()
})
beforeEach(() => stage.reset())
afterAll(() => stage.stop())

describe("`provider.require_parameters`", () => {
  const requires = { require_parameters: true }

  test("`require_parameters` skips providers that would not receive a parameter", async () => {
    const body = { model: "t/both", seed: 5 }
    const free = await stage.chat({ ...body })
    expect(free.headers.get("x-gateway-provider")).toBe("messages")
    const bound = await stage.chat({ ...body, provider: requires })
    expect(bound.headers.get("x-gateway-provider")).toBe("chat")
    const { excluded } = await stage.explained(body, requires)
    expect(excluded).toMatchObject([{ provider: "messages", why: "require_parameters" }])
    expect(excluded[0]?.reason).toBe("It does not support all parameters of the request: `seed`.")
  })

  test("`require_parameters` names the parameters if no provider is left", async () => {
    const error = await stage.refused({ model: "t/messages", seed: 5, n: 1 }, requires)
    expect([error.status, error.code, error.param]).toEqual([400, "model_not_found", "provider"])
    expect(error.message).toContain("messages (require_parameters `seed`)")
    expect(stage.upstream.requests).toEqual([])
  })

  const marked = [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }]
  const system = { parts: [{ text: "Be brief." }] }
  const version = { "anthropic-version": "2023-06-01" }
  const contents = [{ role: "user", parts: [{ text: "Hi" }] }]
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } }

  test.each([
    ["/msgapi/v1/messages", { ...HI, model: "t/chat", max_tokens: 5, top_k: 5 }, "top_k"],
    [
      "/genapi/v1beta/models/t/chat:generateContent",
      { contents, generationConfig: { topK: 5 } },
      "generationConfig.topK",
    ],
    ["/v1/responses", { model: "t/messages", input: "Hi", prompt_cache_key: "k" }, "prompt_cache_key"],
    ["/v1/chat/completions", { ...HI, model: "t/messages", logit_bias: { "5": 1 } }, "logit_bias"],
  ])("`require_parameters` at %s names %j by the caller's path", async (path, body, named) => {
    const answer = await stage.post(path, { ...body, provider: requires }, { headers: version })
    const { error } = (await answer.json()) as { error: { message: string } }
    expect([answer.status, error.message]).toEqual([400, expect.stringContaining(`(require_parameters \`${named}\`)`)])
  })

  test.each([
    ["/msgapi/v1/messages", { ...HI, model: "t/chat", max_tokens: 5, system: marked }],
    [
      "/genapi/v1beta/models/t/chat:generateContent",
      { contents, systemInstruction: system, generationConfig: { seed: 1 } },
    ],
    ["/v1/responses", { model: "t/messages", input: "Hi", instructions: "Be brief.", temperature: 0.5 }],
    ["/v1/chat/completions", { ...HI, model: "t/messages", temperature: 0.5, stop: ["x"] }],
    ["/v1/chat/completions", { model: "t/messages", messages: [{ role: "user", content: [picture] }] }],
    ["/v1/chat/completions", { ...HI, model: "t/messages", max_tokens: 5000 }],
  ])("`require_parameters` at %s accepts content and equivalent settings: %j", async (path, body) => {
    const answer = await stage.post(path, { ...body, provider: requires }, { headers: version })
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()])
  })

  test("`require_parameters` leaves errors about content to the provider's own check", async () => {
    const content = [{ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } }]
    const body = { model: "t/messages", messages: [{ role: "user", content }] }
    const error = await stage.refused(body, requires)
    expect(error.code).not.toBe("model_not_found")
    expect(error).toEqual(await stage.refused(body, {}))
  })

  test("`require_parameters` applies to a request too large for the event loop", async () => {
    const messages = [{ role: "user", content: "word ".repeat(100_000) }]
    const answer = await stage.post("/v1/chat/completions", { model: "t/both", messages, seed: 5, provider: requires })
    expect(answer.headers.get("x-gateway-provider")).toBe("chat")
  })
})

describe("`provider.report`", () => {
  interface ReportedLoss {
    path: string
    weight: string
    how: string
    why: string
  }

  async function lossesOf(answer: Response): Promise<ReportedLoss[]> {
    await answer.text()
    const receipt = await stage.receiptOf(answer)
    return ((await receipt.json()) as { facts: { losses: ReportedLoss[] } }).facts.losses
  }

  test.each([false, true])(
    "`report` records every loss of request and response on the receipt; streamed: %p",
    async (stream) => {
      stage.upstream.script = async (_, reply) => {
        const content = [
          { type: "text", text: "Hello." },
          { type: "odd", x: 1 },
        ]
        if (!stream) return reply.json(anthropicMessage("", { content }))
        reply.stream()
        for (const event of anthropicWords("Hello.")) {
          const odd = { type: "content_block_start", index: 1, content_block: { type: "odd", x: 1 } }
          const blocks = [odd, { type: "content_block_stop", index: 1 }]
          if (event.includes("message_delta"))
            for (const each of blocks) await reply.write(`event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`)
          await reply.write(event)
        }
        reply.end()
      }
      const many = Object.fromEntries(
        Array.from({ length: 200 }, (_, index) => [`own_member_${index}`, "x".repeat(20)]),
      )
      const body = { ...HI, model: "t/messages", stream, seed: 5, ...many, provider: { report: true } }
      const answer = await stage.post("/v1/chat/completions", body)
      expect(answer.headers.get("x-gateway-losses")).toEndWith("...")
      const losses = await lossesOf(answer)
      expect(losses.length).toBeGreaterThan(200)
      for (const loss of losses) expect(Object.keys(loss).sort()).toEqual(["how", "path", "weight", "why"])
      expect(losses.map(({ path }) => path)).toEqual(expect.arrayContaining(["seed", "own_member_199"]))
      expect(losses.filter(({ why }) => why.includes("a block that exists only in its own protocol"))).toHaveLength(1)
    },
  )
})
