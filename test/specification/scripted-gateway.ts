// A gateway whose models are served by a scripted upstream in all three protocols, to check what reaches it.
import { RunningGateway } from "../stage/gateway.ts"
import {
  completion,
  type ReceivedRequest,
  ScriptedUpstream,
  streamedWords,
  type UpstreamReply,
} from "../stage/upstream.ts"
import type { ClientStyle, SpecBody } from "./client-styles.ts"

export const FIRST = "test/first"
export const SECOND = "test/second"
export const THIRD = "test/third"
/** A model whose only host has the style's own protocol, so that no other can answer. */
export const AT_HOME: Readonly<Record<ClientStyle["name"], string>> = {
  "completions-style": "test/home-of-chat",
  "messages-style": "test/home-of-messages",
  "content-generation": "test/home-of-generate",
}

const HOSTS = ["chat-host", "messages-host", "generate-host"]

export class ScriptedGateway {
  private constructor(
    readonly gateway: RunningGateway,
    readonly upstream: ScriptedUpstream,
  ) {}

  static async start(): Promise<ScriptedGateway> {
    const upstream = await ScriptedUpstream.start(answerInKind)
    const gateway = await RunningGateway.start({ config: configOf(upstream) })
    return new ScriptedGateway(gateway, upstream)
  }

  get url(): string {
    return this.gateway.url
  }

  get key(): string {
    return this.gateway.key
  }

  /** Forgets the upstream's requests, and lets it answer again. */
  reset(): void {
    this.upstream.requests.length = 0
    this.upstream.script = answerInKind
  }

  /** Lets the upstream fail for these models and answer for all others. */
  failFor(...models: readonly string[]): void {
    this.upstream.script = (request, reply) => {
      if (!models.includes(`test/${nameIn(request)}`)) return answerInKind(request, reply)
      reply.json({ error: { message: "The engine is overloaded." } }, 503)
    }
  }

  /** The body that reached the upstream last. */
  reached(): SpecBody {
    return bodyOf(this.upstream.lastRequest())
  }

  /** The requested models in order, each once for any number of its hosts. */
  requestedModels(): string[] {
    return [...new Set(this.upstream.requests.map((request) => `test/${nameIn(request)}`))]
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await this.upstream.stop()
  }
}

function configOf({ baseUrl, port }: ScriptedUpstream): string {
  const model = (id: string, hosts = HOSTS) => {
    const name = id.slice(id.indexOf("/") + 1)
    const targets = hosts.map((host) => `{ provider: ${host}, model: ${name} }`)
    return `  - { id: ${id}, kind: chat, context_window: 1000, max_output_tokens: 100, pricing: { input: "1", output: "2" }, targets: [${targets}] }`
  }
  const origin = `http://127.0.0.1:${port}`
  return `
providers:
  chat-host: { type: openai-compatible, base_url: "${baseUrl}", api_key: "upstream-credential" }
  messages-host: { type: anthropic-compatible, base_url: "${origin}", api_key: "upstream-credential" }
  generate-host: { type: gemini-compatible, base_url: "${origin}", api_key: "upstream-credential" }
models:
${[FIRST, SECOND, THIRD].map((id) => model(id)).join("\n")}
${Object.values(AT_HOME)
  .map((id, at) => model(id, HOSTS.slice(at, at + 1)))
  .join("\n")}
`
}

function bodyOf({ body }: ReceivedRequest): SpecBody {
  return JSON.parse(body.toString("utf8")) as SpecBody
}

/** The model's name at the upstream, out of the path or the body. */
function nameIn(request: ReceivedRequest): string {
  return /\/models\/([^:]+):/.exec(request.path)?.[1] ?? String(bodyOf(request).model)
}

/** Answers in the form of the vendor of the path, whole or in pieces. */
async function answerInKind(request: ReceivedRequest, reply: UpstreamReply): Promise<void> {
  const isStreamed = bodyOf(request).stream === true
  const isMessages = request.path.endsWith("/messages")
  if (!isStreamed) {
    if (isMessages) return reply.json(message())
    return reply.json(request.path.includes(":generateContent") ? generated() : completion("About 384,400 km."))
  }
  reply.stream()
  for (const event of isMessages ? messageEvents() : streamedWords("About 384,400 km.")) await reply.write(event)
  reply.end()
}

/** A message as Anthropic sends it. */
function message(): SpecBody {
  return {
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    model: "upstream-model-20260101",
    content: [{ type: "text", text: "About 384,400 km." }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 13, output_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  }
}

function messageEvents(): string[] {
  const begun = { ...message(), content: [], stop_reason: null }
  const events = [
    { type: "message_start", message: begun },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "About 384,400 km." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 8 } },
    { type: "message_stop" },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** An answer as Google sends it. */
function generated(): SpecBody {
  const content = { parts: [{ text: "About 384,400 km." }], role: "model" }
  return {
    candidates: [{ content, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 8, totalTokenCount: 14 },
    modelVersion: "upstream-model-001",
    responseId: "mK2Yae3rLMGmqtsPoYXe2Ag",
  }
}
