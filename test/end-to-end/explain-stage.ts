// A gateway in front of a scripted upstream with two protocols, whose ledger records its calls; and requests to be
// explained.
import { expect } from "bun:test"
import { anthropicMessage } from "../stage/anthropic-wire.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"

export const SECRET = "canary-of-the-upstream"

export const explainConfig = (origin: string) => `
admin: { port: 0 }
media: { fetch: true }
providers:
  chat: { type: openai-compatible, base_url: "${origin}/v1", api_key: ${SECRET}, protocols: [openai-chat, openai-embeddings, openai-images] }
  messages: { type: anthropic-compatible, base_url: "${origin}", api_key: ${SECRET} }
models:
  - { id: t/both, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [
      { provider: messages, model: claude, priority: 1 }, { provider: chat, model: gpt, priority: 2, pricing: { input: "0.5", output: "1" } }] }
  - { id: t/messages, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: messages, model: claude }] }
  - { id: t/chat, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: chat, model: gpt }] }
  - { id: t/failing, pricing: { input: "1", output: "2" }, targets: [{ provider: messages, model: broken, priority: 1 }, { provider: chat, model: whole, priority: 2 }] }
  - { id: t/half-priced, targets: [{ provider: messages, model: claude, pricing: { input: "1", output: "2" } }, { provider: chat, model: gpt }] }
  - { id: t/unpriced, targets: [{ provider: chat, model: gpt }] }
  - { id: t/nowhere, pricing: { input: "1", output: "2" }, targets: [{ provider: groq, model: x }] }
  - { id: t/embedding, kind: embedding, pricing: { input: "1" }, targets: [{ provider: chat, model: embed }] }
  - { id: t/image, kind: image, pricing: { per_image: "0.04" }, targets: [{ provider: chat, model: draw }] }
  - { id: t/equal, pricing: { input: "1", output: "2" }, targets: [{ provider: messages, model: a }, { provider: messages, model: b }] }
`

export const HI = { messages: [{ role: "user" as const, content: "Hi" }] }
export const provider = { explain: true }

export type ExplainBody = Record<string, unknown>
interface ExplainAttempt extends ExplainBody {
  provider: string
  cost: { least: string; likely: string; most: string }
  losses: { path: string }[]
  request: { headers: string[]; body: string; bytes: number; note?: string }
}
export interface ExplainAnswer extends ExplainBody {
  attempts: ExplainAttempt[]
  excluded: { provider: string; why: string; reason: string }[]
  refusal: { code: string; message: string } | null
  money: ExplainBody
}

interface ExplainOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

export class ExplainStage {
  private constructor(
    readonly upstream: ScriptedUpstream,
    readonly gateway: InProcessGateway,
    /** The calls to the ledger. */
    readonly ledgerCalls: string[],
  ) {}

  static async start(): Promise<ExplainStage> {
    const upstream = await ScriptedUpstream.start()
    const ledgerCalls: string[] = []
    const gateway = InProcessGateway.start({
      config: explainConfig(upstream.origin),
      bookWith: (ledger) =>
        new Proxy(ledger, {
          get(target, name) {
            ledgerCalls.push(String(name))
            const value: unknown = Reflect.get(target, name)
            return typeof value === "function" ? value.bind(target) : value
          },
        }),
    })
    return new ExplainStage(upstream, gateway, ledgerCalls)
  }

  reset(): void {
    this.upstream.requests.length = 0
    this.upstream.script = ({ path }, reply) =>
      reply.json(path.endsWith("/messages") ? anthropicMessage("Hello.") : completion("Hello."))
    this.ledgerCalls.length = 0
  }

  post(
    path: string,
    body: ExplainBody,
    { key = this.gateway.key, headers = {} }: ExplainOptions = {},
  ): Promise<Response> {
    return fetch(this.gateway.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    })
  }

  chat(body: ExplainBody, options?: ExplainOptions): Promise<Response> {
    return this.post("/v1/chat/completions", { ...HI, ...body }, options)
  }

  async explained(body: ExplainBody, wishes: ExplainBody = {}, key = this.gateway.key): Promise<ExplainAnswer> {
    const answer = await this.chat({ ...body, provider: { ...provider, ...wishes } }, { key })
    expect(answer.status).toBe(200)
    return (await answer.json()) as ExplainAnswer
  }

  async refused(body: ExplainBody, wishes: ExplainBody = provider) {
    const answer = await this.chat({ ...body, provider: wishes })
    const { error } = (await answer.json()) as { error: { code: string; message: string; param: string } }
    return { status: answer.status, ...error }
  }

  async receiptOf(answer: Response): Promise<Response> {
    return fetch(`${this.gateway.url}/v1/receipts/${answer.headers.get("x-request-id")}`, {
      headers: { authorization: `Bearer ${this.gateway.key}` },
    })
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await this.upstream.stop()
  }
}
