// A gateway in front of an upstream that has three protocols and answers with the number of turns it received, and
// clients of two tenants.
import OpenAI from "openai"
import { anthropicMessage, anthropicWords } from "../stage/anthropic-wire.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { geminiResponse, geminiWords } from "../stage/gemini-wire.ts"
import { KeyFolder } from "../stage/keys.ts"
import { responseObject, responseWords } from "../stage/responses-wire.ts"
import { type ReceivedRequest, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"

/** Models by the protocol of their upstream. */
export const MODELS = { relayed: "test/relayed", anthropic: "test/anthropic", gemini: "test/gemini" } as const

const model = (id: string, targets: string, more = "") =>
  `  - { id: ${id}, kind: chat, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, ${more}targets: [${targets}] }`

const config = (origin: string) => `
providers:
  relayed: { type: openai-compatible, protocols: [openai-responses], base_url: "${origin}/v1", api_key: k }
  first: { type: openai-compatible, protocols: [openai-responses], base_url: "${origin}/first/v1", api_key: k }
  second: { type: openai-compatible, protocols: [openai-responses], base_url: "${origin}/second/v1", api_key: k }
  messages: { type: anthropic-compatible, base_url: "${origin}", api_key: k }
  gemini: { type: gemini-compatible, base_url: "${origin}", api_key: k }
models:
${model("test/relayed", "{ provider: relayed, model: up }")}
${model("test/thinking", "{ provider: relayed, model: up }", "reasoning: true, ")}
${model("test/anthropic", "{ provider: messages, model: up }")}
${model("test/gemini", "{ provider: gemini, model: up }")}
${model("test/two", "{ provider: first, model: up }, { provider: second, model: up }")}
`

type ResponsesBody = Record<string, unknown>

interface ResponseKind {
  readonly at: string
  /** The conversation in the request. */
  readonly turns: string
  readonly whole: (text: string) => unknown
  readonly words: (text: string) => readonly string[]
}

const KINDS: readonly ResponseKind[] = [
  { at: "/responses", turns: "input", whole: responseObject, words: responseWords },
  { at: "/messages", turns: "messages", whole: anthropicMessage, words: anthropicWords },
  { at: "enerateContent", turns: "contents", whole: (text) => geminiResponse(text, "STOP"), words: geminiWords },
]

/** Answers with the number of turns in the request, whole or streamed as requested. */
export async function tellTurns({ path, body }: ReceivedRequest, reply: UpstreamReply): Promise<void> {
  const kind = KINDS.find(({ at }) => path.includes(at))
  if (!kind) return reply.json({ error: { message: `nothing is scripted at ${path}` } }, 404)
  const request = JSON.parse(body.toString()) as ResponsesBody
  const turns = request[kind.turns]
  const text = `I heard ${Array.isArray(turns) ? turns.length : 1}.`
  if (request.stream !== true && !path.includes(":stream")) return reply.json(kind.whole(text))
  reply.stream()
  for (const event of kind.words(text)) await reply.write(event)
  reply.end()
}

export class ResponsesStage {
  gateway!: RunningGateway
  /** Clients of two tenants. */
  client!: OpenAI
  other!: OpenAI
  /** A client of the first tenant whose key lacks this protocol. */
  chat!: OpenAI
  private readonly folder = new KeyFolder()
  private readonly keys: { readonly own: string; readonly other: string; readonly chat: string }

  private constructor(readonly upstream: ScriptedUpstream) {
    this.keys = this.folder.within((store) => ({
      own: store.create({ name: "own", tenant: "acme", requestsPerMinute: 1_000_000 }).text,
      chat: store.create({ name: "chat", tenant: "acme", protocols: ["openai-chat"] }).text,
      other: store.create({ name: "other", tenant: "globex", requestsPerMinute: 1_000_000 }).text,
    }))
  }

  static async open(): Promise<ResponsesStage> {
    const stage = new ResponsesStage(await ScriptedUpstream.start(tellTurns))
    await stage.start()
    return stage
  }

  get dataDir(): string {
    return this.folder.path
  }

  async start(): Promise<void> {
    const { upstream, dataDir } = this
    this.gateway = await RunningGateway.start({ config: config(upstream.origin), dataDir, key: this.keys.own })
    this.client = this.clientOf(this.keys.own)
    this.other = this.clientOf(this.keys.other)
    this.chat = this.clientOf(this.keys.chat)
  }

  /** The conversation in the upstream's last request, in its own form. */
  lastConversation(): unknown {
    const { path, body } = this.upstream.lastRequest()
    const kind = KINDS.find(({ at }) => path.includes(at))
    return (JSON.parse(body.toString()) as ResponsesBody)[kind?.turns ?? ""]
  }

  lastBody(): ResponsesBody {
    return JSON.parse(this.upstream.lastRequest().body.toString()) as ResponsesBody
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.keys.own}`, "content-type": "application/json" }
    return fetch(this.gateway.url + path, { headers, ...init })
  }

  async close(): Promise<void> {
    await this.gateway.stop()
    await this.upstream.stop()
    this.folder.remove()
  }

  private clientOf(apiKey: string): OpenAI {
    return new OpenAI({ apiKey, baseURL: `${this.gateway.url}/v1`, maxRetries: 0 })
  }
}
