// `provider.explain` in every protocol, by the official clients.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { completion } from "../stage/upstream.ts"
import { type ExplainAnswer, type ExplainBody, ExplainStage, HI, provider, SECRET } from "./explain-stage.ts"

let stage: ExplainStage
beforeAll(async () => {
  stage = await ExplainStage.start()
})
beforeEach(() => stage.reset())
afterAll(() => stage.stop())

/** The response of each official client to a request with `explain`. */
const CLIENTS: Readonly<Record<string, (stream: boolean) => Promise<Response>>> = {
  "openai-chat": (stream) =>
    openai()
      .chat.completions.create({ ...HI, model: "t/both", stream, provider } as never)
      .asResponse(),
  "openai-responses": (stream) =>
    openai()
      .responses.create({ input: "Hi", model: "t/both", stream, provider } as never)
      .asResponse(),
  "anthropic-messages": (stream) => {
    const client = new Anthropic({ apiKey: stage.gateway.key, baseURL: `${stage.gateway.url}/anthropic` })
    return client.messages.create({ ...HI, model: "t/both", max_tokens: 100, stream, provider } as never).asResponse()
  },
  "gemini-generate": async (stream) => {
    let seen: Response | undefined
    const fetched = async (...call: Parameters<typeof fetch>) => {
      const answer = await fetch(...call)
      seen = new Response(await answer.clone().text(), { status: answer.status, headers: answer.headers })
      return answer
    }
    const httpOptions = { baseUrl: `${stage.gateway.url}/gemini`, fetch: fetched, extraBody: { provider } }
    const { models } = new GoogleGenAI({ apiKey: stage.gateway.key, httpOptions: httpOptions as never })
    const asking = { model: "t/both", contents: "Hi" }
    await (stream ? models.generateContentStream(asking) : models.generateContent(asking))
    if (!seen) throw new Error("the client has sent no request")
    return seen
  },
}

const openai = () => new OpenAI({ apiKey: stage.gateway.key, baseURL: `${stage.gateway.url}/v1` })

describe("an explanation for an official client", () => {
  for (const [protocol, call] of Object.entries(CLIENTS)) {
    for (const stream of [false, true]) {
      test(`an official client gets an explanation over ${protocol}, ${stream ? "streamed" : "whole"}`, async () => {
        const answer = await call(stream)
        expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"])
        const document = (await answer.json()) as ExplainAnswer
        expect(document).toMatchObject({ object: "explanation", requested_model: "t/both", protocol, refusal: null })
        expect(document.attempts.map((each) => each.provider)).toEqual(["messages", "chat"])
      })
    }
  }

  test("an explained request makes no upstream call, no hold and no receipt", async () => {
    for (const call of Object.values(CLIENTS)) {
      const answer = await call(false)
      expect(answer.headers.get("x-gateway-cost")).toBeNull()
      expect(answer.headers.get("x-gateway-losses")).toBeNull()
      const receipt = await stage.receiptOf(answer)
      expect(receipt.status).toBe(404)
    }
    expect(stage.upstream.requests).toEqual([])
    expect(new Set(stage.ledgerCalls)).toEqual(new Set(["balance"]))
  })

  test("an explained request does not use up its idempotency key", async () => {
    const headers = { "idempotency-key": "once" }
    const body = { ...HI, model: "t/both" }
    expect((await stage.post("/v1/chat/completions", { ...body, provider }, { headers })).status).toBe(200)
    expect((await stage.post("/v1/chat/completions", body, { headers })).status).toBe(200)
  })

  test("an explanation is repeatable, even if equal targets are used in rotation", async () => {
    for (const model of ["t/both", "t/equal"]) {
      expect(await stage.explained({ model })).toEqual(await stage.explained({ model }))
    }
  })

  test("an explanation contains no secret", async () => {
    for (const call of Object.values(CLIENTS)) {
      const text = await (await call(false)).text()
      expect(text).not.toContain(SECRET)
      expect(text).not.toContain(stage.gateway.key)
    }
  })

  test.each([
    ["/v1/embeddings", { model: "t/embedding", input: "Hi" }],
    ["/v1/images/generations", { model: "t/image", prompt: "A cat", n: 2 }],
  ])("a request is explained at %s", async (path, body) => {
    const answer = await stage.post(path, { ...body, provider })
    const { attempts, money } = (await answer.json()) as ExplainAnswer
    expect(attempts).toMatchObject([{ provider: "chat", lane: "relay", losses: [] }])
    expect(money).toMatchObject({ balance: null, affordable_output_tokens: null })
    expect(stage.upstream.requests).toEqual([])
  })
})

describe("an explanation", () => {
  test("an explanation shows the bytes that would be sent and the losses", async () => {
    const body = { model: "t/both", logit_bias: { "5": 1 }, seed: 5, max_tokens: 50 }
    const { attempts } = await stage.explained(body)
    expect(attempts).toMatchObject([
      { model: "t/both", provider: "messages", upstream_model: "claude", upstream_protocol: "anthropic-messages" },
      { model: "t/both", provider: "chat", upstream_model: "gpt", upstream_protocol: "openai-chat", losses: [] },
    ])
    expect(attempts.map(({ lane, health }) => [lane, health])).toEqual([
      ["translate", "in"],
      ["relay", "in"],
    ])
    const answer = await stage.chat({ ...body })
    const sent = stage.upstream.lastRequest()
    expect(attempts[0]?.request.body).toBe(sent.body.toString())
    expect(attempts[0]?.request.headers).toContain("x-api-key")
    const lost = attempts[0]?.losses.map(({ path }) => path) ?? []
    expect(answer.headers.get("x-gateway-losses")).toBe(`${lost.length}; ${lost.join(", ")}`)
    expect(lost).toContain("seed")
    await stage.chat({ ...body, provider: { only: ["chat"] } })
    expect(attempts[1]?.request.body).toBe(stage.upstream.lastRequest().body.toString())
  })

  test("an explanation shows a cost range that contains the charge", async () => {
    const { attempts } = await stage.explained({ model: "t/messages", max_tokens: 50 })
    const answer = await stage.chat({ model: "t/messages", max_tokens: 50 })
    const cost = Number(answer.headers.get("x-gateway-cost"))
    const { least, likely, most } = attempts[0]?.cost ?? {}
    expect(Number(least)).toBeLessThanOrEqual(cost)
    expect(cost).toBeLessThanOrEqual(Number(most))
    expect(Number(least)).toBeLessThanOrEqual(Number(likely))
    expect(Number(likely)).toBeLessThanOrEqual(Number(most))
    expect(least).toMatch(/^\d+(\.\d+)?$/)
  })

  test("an explanation truncates a large body, marks it, and never cuts within a character", async () => {
    const content = "€".repeat(40_000)
    const { attempts } = await stage.explained({ model: "t/both", messages: [{ role: "user", content }] })
    for (const { request } of attempts) {
      expect(request.bytes).toBeGreaterThan(120_000)
      const shown = Buffer.byteLength(request.body)
      expect([shown <= 65_536, shown > 65_532]).toEqual([true, true])
      expect(request.body).not.toContain("\ufffd")
      expect(request.note).toContain(`65536 of ${request.bytes} bytes`)
    }
  })

  test("an explanation is given of a request too large for the event loop", async () => {
    const content = "word ".repeat(100_000)
    const { attempts } = await stage.explained({ model: "t/both", messages: [{ role: "user", content }] })
    expect(attempts.map(({ lane }) => lane)).toEqual(["translate", "relay"])
  })

  test("an explanation names the excluded providers and the reasons", async () => {
    const { attempts, excluded } = await stage.explained({ model: "t/both" }, { ignore: ["messages"], routing: "cost" })
    expect(attempts.map((each) => each.provider)).toEqual(["chat"])
    expect(excluded).toEqual([
      {
        ...{ model: "t/both", provider: "messages", upstream_model: "claude" },
        ...{ why: "ignore", reason: "`provider.ignore` names it." },
      } as never,
    ])
    const halfPriced = await stage.explained({ model: "t/half-priced" })
    expect(halfPriced.excluded).toMatchObject([{ provider: "chat", why: "unpriced", reason: "It has no price." }])
  })

  test("an explanation states the error of a request that no provider can serve", async () => {
    const { attempts, refusal, excluded } = await stage.explained({ model: "t/both" }, { only: ["nobody"] })
    expect([attempts.length, excluded.length, refusal?.code]).toEqual([0, 2, "model_not_found"])
    expect(refusal?.message).toBe((await stage.refused({ model: "t/both" }, { only: ["nobody"] })).message)
    const inexpressible = { model: "t/messages", n: 3 }
    const explained = await stage.explained(inexpressible)
    const error = await stage.refused(inexpressible, {})
    expect([explained.attempts, explained.refusal]).toEqual([[], { code: error.code, message: error.message }])
    expect(explained.excluded).toMatchObject([{ provider: "messages", why: error.code, reason: error.message }])
  })

  test("an explanation names the providers out of rotation, and is no probe of them", async () => {
    stage.upstream.script = ({ path }, reply) =>
      path.endsWith("/messages") ? reply.json({ type: "error" }, 500) : reply.json(completion("Hello."))
    for (let call = 0; call < 5; call++) await (await stage.chat({ model: "t/failing" })).text()
    const called = stage.upstream.requests.length
    for (let time = 0; time < 2; time++) {
      const { attempts, excluded } = await stage.explained({ model: "t/failing" })
      expect(attempts).toMatchObject([
        { provider: "chat", health: "in", scores: { latency: { samples: expect.any(Number) } } },
      ])
      expect(excluded).toMatchObject([
        { provider: "messages", why: "failing", reason: "Recent requests to it failed." },
      ])
    }
    expect(stage.upstream.requests.length).toBe(called)
  })

  test("an explanation of a strict request names the providers that would change its meaning", async () => {
    const { attempts, excluded, refusal } = await stage.explained(
      { model: "t/messages", temperature: 2 },
      { strict: true },
    )
    expect([attempts, refusal?.code]).toEqual([[], "lossy_translation"])
    expect(excluded).toMatchObject([{ provider: "messages", why: "lossy_translation" }])
    expect(excluded[0]?.reason).toContain("`temperature`")
  })

  test("an explanation fetches no media from the caller's addresses, and notes that", async () => {
    const content = [{ type: "document", source: { type: "url", url: "https://example.invalid/a.pdf" } }]
    const body = { model: "t/chat", max_tokens: 5, messages: [{ role: "user", content }], provider }
    const headers = { "anthropic-version": "2023-06-01" }
    const { attempts } = (await (await stage.post("/anthropic/v1/messages", body, { headers })).json()) as ExplainAnswer
    expect(attempts).toMatchObject([{ provider: "chat", lane: "translate", losses: null }])
    expect(attempts[0]?.request).toEqual({ note: expect.stringContaining("not when it is explained") } as never)
  })

  test("an explanation repeats the options as they were read", async () => {
    const wishes = { routing: "cost", order: ["chat"], max_price: { prompt: "3" }, fallback: ["t/messages"] }
    expect(await stage.explained({ model: "t/both" }, { ...wishes, strict: true, ignore: [] })).toMatchObject({
      strategy: "cost",
      wishes: { ...wishes, max_price: { prompt: 3 }, strict: true },
    })
  })

  test("an explanation of an unknown, unpriced or unserved model is the request's own error", async () => {
    for (const model of ["t/none", "t/unpriced", "t/nowhere", "t/image"]) {
      expect(await stage.refused({ model })).toEqual(await stage.refused({ model }, {}))
    }
  })

  test("an explanation of a token count is rejected", async () => {
    const headers = { "anthropic-version": "2023-06-01" }
    const answer = await stage.post(
      "/anthropic/v1/messages/count_tokens",
      { ...HI, model: "t/messages", provider },
      { headers },
    )
    expect([answer.status, ((await answer.json()) as { error: ExplainBody }).error.code]).toEqual([
      400,
      "unsupported_parameter",
    ])
  })
})

describe("the money part of an explanation", () => {
  const minted = (grant: Parameters<typeof stage.gateway.gateway.keys.create>[0]) =>
    stage.gateway.gateway.keys.create(grant)

  test("the money part shows the hold, the remaining funds, and the output that they cover", async () => {
    const { key, text } = minted({ name: "poor", tenant: "poor", budgets: { day: 1_000_000n } })
    await stage.gateway.gateway.keys.topUp(key.id, { nanoUsd: 600_000n, eventId: "explain" })
    const { money, refusal } = await stage.explained({ model: "t/messages", max_tokens: 100 }, {}, text)
    expect(money).toMatchObject({
      balance: "0.0006",
      budgets: [{ of: "key", period: "day", limit: "0.001", remaining: "0.001" }],
      held_output_tokens: 100,
    })
    expect(refusal).toBeNull()
    const most = Number(money.affordable_output_tokens)
    const held = async (max_tokens: number) => stage.explained({ model: "t/messages", max_tokens }, {}, text)
    expect((await held(most)).refusal).toBeNull()
    expect((await held(most + 1)).refusal?.code).toBe("insufficient_balance")
    const answer = await stage.chat({ model: "t/messages", max_tokens: 900 }, { key: text })
    expect(((await answer.json()) as { error: ExplainBody }).error.code).toBe("insufficient_balance")
  })

  test("the money part reports a budget that is too small", async () => {
    const { text } = minted({ name: "tight", tenant: "tight", budgets: { month: 100n } })
    const { refusal, money } = await stage.explained({ model: "t/messages" }, {}, text)
    expect([refusal?.code, money.affordable_output_tokens]).toEqual(["budget_exceeded", 0])
  })

  test("an explained request does not use the token allowance, and counts as one request", async () => {
    const { text } = minted({ name: "limited", tokensPerMinute: 100_000, requestsPerMinute: 50 })
    const answer = await stage.chat({ model: "t/both", provider }, { key: text })
    expect(answer.headers.get("x-ratelimit-remaining-tokens")).toBe("100000")
    expect(answer.headers.get("x-ratelimit-remaining-requests")).toBe("49")
  })
})
