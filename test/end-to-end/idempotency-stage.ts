// A gateway with an upstream that never answers the same twice, callers with a balance, and their requests with
// idempotency keys.
import { expect } from "bun:test"
import { anthropicMessage, anthropicWords } from "../stage/anthropic-wire.ts"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { geminiResponse, geminiWords } from "../stage/gemini-wire.ts"
import { KeyFolder } from "../stage/keys.ts"
import { RawClient } from "../stage/raw-client.ts"
import { responseObject, responseWords } from "../stage/responses-wire.ts"
import {
  completion,
  type ReceivedRequest,
  ScriptedUpstream,
  streamedWords,
  type UpstreamReply,
} from "../stage/upstream.ts"

const MODELS = `
  - { id: test/foreign, kind: chat, context_window: 1000, max_output_tokens: 100, pricing: { input: "1", output: "2" },
      targets: [{ provider: openai-like, model: upstream-model }] }
  - { id: test/embedding, kind: embedding, context_window: 1000, pricing: { input: "1" },
      targets: [{ provider: openai-like, model: upstream-model }] }
  - { id: test/image, kind: image, pricing: { per_image: "0.01" },
      targets: [{ provider: openai-like, model: upstream-model }] }`

export interface RepeatableRequest {
  readonly path: string
  readonly body: Record<string, unknown>
}

interface IdempotencyAnswer {
  readonly status: number
  readonly headers: Headers
  /** The id it is known by. */
  readonly id: string
  /** Byte text. */
  readonly text: string
  /** `200`, or the status and code of an error. */
  readonly outcome: string
}

export interface StagedCaller {
  readonly id: string
  readonly key: string
}

let idempotencyKeys = 0
export const newIdempotencyKey = () => `order ${++idempotencyKeys}: "once", ~`

export class IdempotencyStage {
  gateway!: RunningGateway
  /** The text of the last answer. */
  text = ""
  private readonly keys = new KeyFolder()
  private answers = 0

  private constructor(readonly upstream: ScriptedUpstream) {}

  static async open(): Promise<IdempotencyStage> {
    const stage = new IdempotencyStage(await ScriptedUpstream.start())
    await stage.start()
    return stage
  }

  get dataDir(): string {
    return this.keys.path
  }

  async start(): Promise<void> {
    const config = vendorsConfig(this.upstream.origin, MODELS)
    this.gateway = await RunningGateway.start({ config, dataDir: this.dataDir })
  }

  /** Forgets the requests, and lets the upstream answer. */
  reset(): void {
    this.upstream.script = this.answer
    this.upstream.requests.length = 0
  }

  async close(): Promise<void> {
    await this.gateway.stop()
    await this.upstream.stop()
    this.keys.remove()
  }

  /** The number of upstream requests. */
  get upstreamCalls(): number {
    return this.upstream.requests.length
  }

  /** Answers in the form of the vendor of the path, whole or in pieces, with other words each time. */
  readonly answer = async ({ path, body }: ReceivedRequest, reply: UpstreamReply): Promise<void> => {
    const text = `This is answer ${++this.answers}.`
    const kind = KINDS.find(({ at }) => path.includes(at))
    if (!kind) return reply.json({ error: { message: `nothing is scripted at ${path}` } }, 404)
    this.text = text
    const isStreamed = /"stream":\s*true/.test(body.toString()) || path.includes(":streamGenerateContent")
    if (!isStreamed) return reply.json(kind.whole(text))
    reply.stream()
    for (const event of kind.words?.(text) ?? []) await reply.write(event)
    reply.end()
  }

  /** Lets the upstream answer only on demand. */
  holdBack(): { readonly arrived: Promise<void>; goOn(): void } {
    const arrived = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    this.upstream.script = async (request, reply) => {
      arrived.resolve()
      await go.promise
      await this.answer(request, reply)
    }
    return { arrived: arrived.promise, goOn: () => go.resolve() }
  }

  /** One with a balance of a dollar. */
  async newCaller(wish: Record<string, unknown> = {}): Promise<StagedCaller> {
    const body = JSON.stringify({ name: "idempotent", balance: "1", ...wish })
    const response = await this.gateway.administer("/admin/v1/keys", { method: "POST", body })
    expect(response.status).toBe(201)
    return (await response.json()) as StagedCaller
  }

  /** One that keeps answers. */
  newKeeper(): Promise<StagedCaller> {
    return this.newCaller({ keep_answers: true })
  }

  async send(
    { path, body }: RepeatableRequest,
    { key }: Pick<StagedCaller, "key">,
    idempotencyKey: string,
  ): Promise<IdempotencyAnswer> {
    const headers = { ...headersOf(key, idempotencyKey), "content-type": "application/json" }
    const response = await fetch(this.gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })
    const text = Buffer.from(await response.arrayBuffer()).toString("latin1")
    const { status } = response
    const outcome = status === 200 ? "200" : `${status} ${JSON.parse(text).error.code}`
    return { status, headers: response.headers, id: response.headers.get("x-request-id") ?? "", text, outcome }
  }

  /** `send` for a chat whose response the test reads itself. */
  sendRaw(body: RepeatableRequest["body"], { key }: StagedCaller, idempotencyKey: string): Promise<RawClient> {
    const headers = { "idempotency-key": idempotencyKey }
    return RawClient.chat(this.gateway.url, { key, body: JSON.stringify(body), headers })
  }

  async get(path: string, { key }: StagedCaller, idempotencyKey = "unused"): Promise<Record<string, unknown>> {
    const response = await fetch(this.gateway.url + path, { headers: headersOf(key, idempotencyKey) })
    expect(response.status).toBe(200)
    return (await response.json()) as Record<string, unknown>
  }

  /** The remainder of a caller's balance, in USD. */
  async left(caller: StagedCaller): Promise<number> {
    return Number((await this.get("/v1/key", caller)).balance)
  }

  async paid(caller: StagedCaller): Promise<number> {
    return Math.round((1 - (await this.left(caller))) * 1e9) / 1e9
  }
}

function headersOf(key: string, idempotencyKey: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, "anthropic-version": "2023-06-01", "idempotency-key": idempotencyKey }
}

interface RequestKind {
  /** A part of its path. */
  readonly at: string
  readonly whole: (text: string) => unknown
  readonly words?: (text: string) => readonly string[]
}

const KINDS: readonly RequestKind[] = [
  { at: "/chat/completions", whole: completion, words: streamedWords },
  { at: "/responses", whole: responseObject, words: responseWords },
  { at: "/count_tokens", whole: () => ({ input_tokens: 9 }) },
  { at: ":countTokens", whole: () => ({ totalTokens: 9 }) },
  { at: "/messages", whole: anthropicMessage, words: anthropicWords },
  { at: "enerateContent", whole: (text) => geminiResponse(text, "STOP"), words: geminiWords },
  {
    at: "/embeddings",
    whole: (text) => ({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [...text].map((letter) => letter.charCodeAt(0)) }],
      model: "upstream-model",
      usage: { prompt_tokens: 9, total_tokens: 9 },
    }),
  },
  { at: "/images/", whole: (text) => ({ created: 1_731_000_000, data: [{ b64_json: btoa(text) }] }) },
]

const CHAT = { model: "test/model", messages: [{ role: "user", content: "hi" }] }
const CONTENTS = { contents: [{ role: "user", parts: [{ text: "hi" }] }] }
const GEMINI = "/genapi/v1beta/models/test/model"

export const chat: RepeatableRequest = { path: "/v1/chat/completions", body: CHAT }
export const chatStreamed: RepeatableRequest = { ...chat, body: { ...CHAT, stream: true } }
const responses: RepeatableRequest = { path: "/v1/responses", body: { model: "test/model", input: "hi" } }
const messages: RepeatableRequest = { path: "/anthropic/v1/messages", body: { ...CHAT, max_tokens: 50 } }
const foreign: RepeatableRequest = { ...messages, body: { ...messages.body, model: "test/foreign" } }
const streamed = ({ path, body }: RepeatableRequest): RepeatableRequest => ({ path, body: { ...body, stream: true } })
const generating = (method: string): RepeatableRequest => ({ path: `${GEMINI}:${method}`, body: CONTENTS })

/** One for each way to generate. */
export const ASKS: readonly (RepeatableRequest & { readonly name: string })[] = [
  { name: "chat", ...chat },
  { name: "chat, streamed", ...chatStreamed },
  { name: "responses", ...responses },
  { name: "responses, streamed", ...streamed(responses) },
  { name: "messages", ...messages },
  { name: "messages, streamed", ...streamed(messages) },
  { name: "messages, translated", ...foreign },
  { name: "messages, translated, streamed", ...streamed(foreign) },
  { name: "generateContent", ...generating("generateContent") },
  { name: "streamGenerateContent as events", ...generating("streamGenerateContent?alt=sse") },
  { name: "streamGenerateContent as an array", ...generating("streamGenerateContent") },
  { name: "embeddings", path: "/v1/embeddings", body: { model: "test/embedding", input: "hi" } },
  {
    name: "embedContent, translated",
    path: "/genapi/v1beta/models/test/embedding:embedContent",
    body: { content: { parts: [{ text: "hi" }] } },
  },
  { name: "images", path: "/v1/images/generations", body: { model: "test/image", prompt: "a cat" } },
]

/** The endpoint only counts tokens. */
export const COUNTS: readonly RepeatableRequest[] = [
  { path: "/anthropic/v1/messages/count_tokens", body: CHAT },
  generating("countTokens"),
]
