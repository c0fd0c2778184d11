import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { hello, textOf } from "../end-to-end/anthropic-versions.ts"
import { HI } from "../end-to-end/client-versions.ts"
import { recordings, sampleSize, streamText, wholeText } from "../recordings/recorded.ts"
import { anthropicMessage, anthropicWords } from "../stage/anthropic-wire.ts"
import { geminiResponse, geminiWords } from "../stage/gemini-wire.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { completion, ScriptedUpstream, streams, type UpstreamScript } from "../stage/upstream.ts"
import { keyFile, TokenOffice } from "./google.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-vertex-"))
const PLACE = "projects/test-project/locations/europe-west4"
let upstream: ScriptedUpstream
let gateway: InProcessGateway
let office: TokenOffice

/** A gateway that has no token yet. */
beforeEach(async () => {
  office = new TokenOffice()
  const file = join(folder, "key.json")
  writeFileSync(file, JSON.stringify(keyFile(`${upstream.origin}${office.path}`)))
  await gateway?.stop()
  gateway = InProcessGateway.start({
    config: `
providers:
  vertex: { project: test-project, location: europe-west4, credentials_file: "${file}", base_url: "${upstream.origin}" }
  spare: { type: gemini-compatible, base_url: "${upstream.origin}/spare", api_key: spare-key }
models:
  - { id: test/gemini, pricing: { input: "1", output: "2" }, targets: [{ provider: vertex, model: gemini-test }] }
  - { id: test/claude, pricing: { input: "1", output: "2" }, targets: [{ provider: vertex, model: "claude-test@20260101" }] }
  - { id: test/maas, pricing: { input: "1", output: "2" }, targets: [{ provider: vertex, model: meta/llama-test-maas }] }
  - { id: test/two, pricing: { input: "1", output: "2" }, targets: [{ provider: vertex, model: gemini-test, priority: 1 },
      { provider: spare, model: gemini-test, priority: 2 }] }
`,
  })
})
beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Answers calls that bear a valid token by this script, and exchanges of tokens as Google does. */
function answer(script: UpstreamScript): void {
  upstream.script = (request, reply) => {
    if (request.path === office.path) return office.exchange(request, reply)
    if (request.path.startsWith("/spare") || office.knows(request)) return script(request, reply)
    return reply.json({ error: { code: 401, message: "Expired.", status: "UNAUTHENTICATED" } }, 401)
  }
}

const google = () =>
  new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: `${gateway.url}/gemini`, apiVersion: "v1beta" } })
const anthropic = () => new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.key, maxRetries: 0 })
const openai = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
const ask = (model = "test/gemini") => google().models.generateContent({ model, contents: "hi" })
const post = (method: string, signal?: AbortSignal) =>
  fetch(`${gateway.url}/gemini/v1beta/models/test/gemini:${method}`, {
    method: "POST",
    headers: { "x-goog-api-key": gateway.key, "content-type": "application/json" },
    body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }] }),
    ...(signal && { signal }),
  })
const body = () => JSON.parse(upstream.lastRequest().body.toString())
const calls = () => upstream.requests.filter(({ path }) => path !== office.path)

describe("Gemini on Vertex", () => {
  test("Gemini on Vertex is called with a token, which many calls share", async () => {
    answer((_, reply) => reply.json(geminiResponse("Hello.", "STOP")))
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()))
    expect(answers.map(({ text }) => text)).toEqual(Array.from({ length: 20 }, () => "Hello."))
    expect(answers[0]?.modelVersion).toBe("test/gemini")
    expect(office.faults).toEqual([undefined])
    expect(upstream.lastRequest().path).toBe(`/v1beta1/${PLACE}/publishers/google/models/gemini-test:generateContent`)
  })

  test("Gemini on Vertex streams events, also to clients that read an array", async () => {
    answer(streams(geminiWords("One two three.")))
    const pieces = []
    for await (const piece of await google().models.generateContentStream({ model: "test/gemini", contents: "hi" })) {
      pieces.push(piece.text)
    }
    expect(pieces.join("")).toBe("One two three.")
    expect(upstream.lastRequest().path).toEndWith("/models/gemini-test:streamGenerateContent?alt=sse")
    expect(await (await post("streamGenerateContent")).json()).toHaveLength(3)
  })

  test("Gemini on Vertex counts tokens, and calls tools", async () => {
    answer((_, reply) => reply.json({ totalTokens: 13, totalBillableCharacters: 47 }))
    expect((await google().models.countTokens({ model: "test/gemini", contents: "hi" })).totalTokens).toBe(13)
    expect(upstream.lastRequest().path).toEndWith("/models/gemini-test:countTokens")
    const call = { functionCall: { name: "weather", args: { city: "Köln" } }, thoughtSignature: "c2lnbmF0dXJl" }
    const content = { role: "model", parts: [call] }
    answer((_, reply) => reply.json({ candidates: [{ content, finishReason: "STOP" }] }))
    expect((await ask()).functionCalls).toEqual([{ name: "weather", args: { city: "Köln" } }])
  })

  test("Gemini on Vertex returns its errors, in an array or not", async () => {
    const error = {
      error: { code: 400, message: "Cannot fetch content from the provided URL.", status: "INVALID_ARGUMENT" },
    }
    for (const body of [error, [error]]) {
      answer((_, reply) => reply.json(body, 400))
      expect(await rejectionOf(ask())).toMatchObject({ status: 400 })
      expect(String(await rejectionOf(ask()))).toContain("Cannot fetch content from the provided URL.")
    }
    answer((_, reply) => reply.json([{ error: { code: 429, message: "Quota.", status: "RESOURCE_EXHAUSTED" } }], 429))
    expect(String(await rejectionOf(ask()))).toContain("upstream_rate_limited")
  })

  test("Gemini on Vertex answers OpenAI clients under its author's name, and other models under their own", async () => {
    answer((_, reply) => reply.json(completion("Hello.")))
    await openai().chat.completions.create({ ...HI, model: "test/gemini" })
    expect(upstream.lastRequest().path).toBe(`/v1/${PLACE}/endpoints/openapi/chat/completions`)
    expect(body().model).toBe("google/gemini-test")
    await openai().chat.completions.create({ ...HI, model: "test/maas" })
    expect(body().model).toBe("meta/llama-test-maas")
  })

  test("Gemini on Vertex is called by clients of other protocols in the protocol that serves it", async () => {
    answer((_, reply) => reply.json(completion("Hello.")))
    expect((await ask("test/maas")).text).toBe("Hello.")
    expect(body()).toMatchObject({ model: "meta/llama-test-maas", messages: [{ role: "user" }] })
  })

  test("a recorded answer of Gemini on Vertex passes unchanged", async () => {
    const whole = recordings("generateContent").filter(
      ({ provider, status }) => provider === "vertex" && status === 200,
    )
    expect(whole.length).toBeGreaterThanOrEqual(sampleSize(10))
    for (const recording of whole) {
      const text = Buffer.from(wholeText(recording) ?? "", "latin1").toString()
      answer((_, reply) => reply.raw(text))
      expect(await (await post("generateContent")).json()).toEqual({ ...JSON.parse(text), modelVersion: "test/gemini" })
    }
    for (const recording of recordings("streamGenerateContent").filter(({ provider }) => provider === "vertex")) {
      const text = Buffer.from(streamText(recording) ?? "", "latin1").toString()
      answer(streams([text]))
      const pieces = []
      for await (const piece of await google().models.generateContentStream({ model: "test/gemini", contents: "hi" })) {
        pieces.push(piece.text ?? "")
      }
      expect(pieces.join("")).toBe("OK")
    }
  })
})

describe("Claude on Vertex", () => {
  test("Claude on Vertex has its model in the path, Vertex's version in the body, and known betas in the header", async () => {
    answer((_, reply) => reply.json(anthropicMessage("Hello.")))
    const betas = ["claude-code-20250219", "context-1m-2025-08-07"]
    const message = await anthropic().beta.messages.create({ ...hello("test/claude"), betas } as never)
    expect(message.model).toBe("test/claude")
    const { path, headers } = upstream.lastRequest()
    expect(path).toBe(`/v1/${PLACE}/publishers/anthropic/models/claude-test@20260101:rawPredict`)
    expect(headers["anthropic-beta"]).toBe("context-1m-2025-08-07")
    expect(headers["anthropic-version"]).toBeUndefined()
    const { messages, max_tokens } = hello("")
    expect(body()).toEqual({ messages, max_tokens, anthropic_version: "vertex-2023-10-16" })
  })

  test("Claude on Vertex streams Anthropic's own events", async () => {
    answer(streams(anthropicWords("One two three.")))
    expect(textOf(await anthropic().messages.stream(hello("test/claude")).finalMessage())).toBe("One two three.")
    expect(upstream.lastRequest().path).toEndWith("claude-test@20260101:streamRawPredict")
    expect(body().stream).toBe(true)
  })

  describe("Claude on Vertex without remote servers", () => {
    const servers = { mcp_servers: [{ type: "url", url: "https://docs.example/mcp", name: "docs" }] }
    const send = (more: object) =>
      fetch(`${gateway.url}/anthropic/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": gateway.key, "anthropic-version": "2023-06-01", "content-type": "application/json" },
        body: JSON.stringify({ ...hello("test/claude"), ...servers, ...more }),
      })

    test("remote servers are left out and reported as losses", async () => {
      answer((_, reply) => reply.json(anthropicMessage("Hello.")))
      const answered = await send({})
      expect([answered.status, answered.headers.get("x-gateway-losses")]).toEqual([200, "1; mcp_servers[0]"])
      const { messages, max_tokens } = hello("")
      expect(body()).toEqual({ messages, max_tokens, anthropic_version: "vertex-2023-10-16" })
    })

    test("a strict request, or one that requires remote tools, is rejected without a call", async () => {
      answer((_, reply) => reply.json(anthropicMessage("Hello.")))
      const before = calls().length
      const refused = await Promise.all([send({ provider: { strict: true } }), send({ tool_choice: { type: "any" } })])
      const codes = await Promise.all(
        refused.map(async (each) => ((await each.json()) as { error: { code: string } }).error.code),
      )
      expect(codes).toEqual(["lossy_translation", "unsupported_parameter"])
      expect(calls().length).toBe(before)
    })
  })

  test("Claude on Vertex counts tokens at a path of its own, with the model in the body", async () => {
    answer((_, reply) => reply.json({ input_tokens: 14 }))
    const { max_tokens: _, ...request } = hello("test/claude")
    expect(await anthropic().messages.countTokens(request)).toMatchObject({ input_tokens: 14 })
    expect(upstream.lastRequest().path).toBe(`/v1/${PLACE}/publishers/anthropic/models/count-tokens:rawPredict`)
    expect(body()).toMatchObject({ model: "claude-test@20260101", anthropic_version: "vertex-2023-10-16" })
  })

  test("Claude is called in Anthropic's protocol for every client, and Gemini in Google's", async () => {
    answer((_, reply) => reply.json(anthropicMessage("Hello.")))
    expect((await ask("test/claude")).text).toBe("Hello.")
    expect(upstream.lastRequest().path).toContain("/publishers/anthropic/models/")
    expect(body()).toMatchObject({ anthropic_version: "vertex-2023-10-16", messages: [{ role: "user" }] })
    expect(body().model).toBeUndefined()
    answer((_, reply) => reply.json(geminiResponse("Hello.", "STOP")))
    const { content } = await anthropic().messages.create(hello("test/gemini"))
    expect(content).toMatchObject([{ type: "text", text: "Hello." }])
    expect(upstream.lastRequest().path).toContain("/publishers/google/models/")
  })
})

describe("an access token", () => {
  const hello = () => answer((_, reply) => reply.json(geminiResponse("Hello.", "STOP")))

  test("an expired token is replaced before the next call", async () => {
    hello()
    office.expiresIn = 20
    await ask()
    await ask()
    expect(office.faults).toEqual([undefined, undefined])
    expect(upstream.lastRequest().headers.authorization).toBe("Bearer ya29.token-2")
  })

  test("a rejected token is replaced before the next call", async () => {
    hello()
    await ask()
    office.revokeAll()
    expect(String(await rejectionOf(ask()))).toContain("The provider rejected the gateway's credential.")
    expect((await ask()).text).toBe("Hello.")
  })

  test("a call without a token fails as a rejected credential, or falls back, and the token is soon requested again", async () => {
    hello()
    upstream.requests.length = 0
    office.refusal = { status: 400, body: { error: "invalid_grant", error_description: "Invalid JWT Signature." } }
    const error = String(await rejectionOf(ask()))
    expect(error).toContain("The provider rejected the gateway's credential.")
    expect(error).toContain("upstream_unavailable")
    expect(error).not.toContain("Invalid JWT")
    expect((await ask("test/two")).text).toBe("Hello.")
    expect(calls().map(({ path }) => path)).toEqual(["/spare/v1beta/models/gemini-test:generateContent"])
    office.refusal = undefined
    await Bun.sleep(1100)
    expect((await ask()).text).toBe("Hello.")
  })

  test("a token issuer that fails makes the call fall back too", async () => {
    hello()
    office.refusal = { status: 500, body: "" }
    expect((await ask("test/two")).text).toBe("Hello.")
    upstream.script = (request, reply) =>
      request.path === office.path ? reply.cut("reset") : reply.json(geminiResponse("Spare.", "STOP"))
    await Bun.sleep(1100)
    expect((await ask("test/two")).text).toBe("Spare.")
  })

  test("a token is not shown to callers, even if the provider repeats it", async () => {
    answer(({ headers }, reply) => {
      const message = `The request with ${headers.authorization} has no contents.`
      reply.json({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }, 400)
    })
    expect(String(await rejectionOf(ask()))).toContain("Bearer [secret] has no contents")
  })

  test("a client that has left does not wait for a token", async () => {
    let closed: Promise<number> | undefined
    upstream.script = (_, reply) => {
      closed = reply.closed
    }
    const abort = new AbortController()
    const pending = post("generateContent", abort.signal)
    while (!closed) await Bun.sleep(5)
    abort.abort()
    await rejectionOf(pending)
    while (gateway.logged("exchange").length === 0) await Bun.sleep(10)
    expect(gateway.logged("exchange")).toMatchObject([{ outcome: "client-gone" }])
  })
})
