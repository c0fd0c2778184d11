// A provider of chat completions that counts its own charges and obeys either no output limit or every one.
import {
  chunk,
  completion,
  DONE,
  ScriptedUpstream,
  type UpstreamReply,
  type UpstreamScript,
} from "../stage/upstream.ts"

export type AnswerShape = "unary" | "stream" | "silent reasoning"

/** The output of every answer without a limit. */
export const ANSWER_TOKENS: Readonly<Record<AnswerShape, number>> = {
  unary: 100_000,
  stream: 20_000,
  "silent reasoning": 100_000,
}
const BYTES_PER_TOKEN = 4
const PIECE_TOKENS = 250
/** Long enough for what one piece asks of the store to be answered before the next. */
const PIECE_MS = 4

export class MeteredHost {
  /** Tokens put out, by the model's name here. */
  readonly billed = new Map<string, number>()

  private constructor(private readonly upstream: ScriptedUpstream) {}

  static async start(): Promise<MeteredHost> {
    const host = new MeteredHost(await ScriptedUpstream.start())
    host.upstream.script = host.script
    return host
  }

  get origin(): string {
    return this.upstream.origin
  }

  stop(): Promise<void> {
    return this.upstream.stop()
  }

  /** A model's name sets its answer: `unary-7`, `stream-3`, `silent-2`; with `honest-` it obeys limits. */
  private readonly script: UpstreamScript = async (request, reply) => {
    const body = JSON.parse(request.body.toString()) as Record<string, unknown>
    const model = String(body.model)
    const limit = Number(body.max_tokens ?? body.max_completion_tokens ?? Number.POSITIVE_INFINITY)
    const isHonest = model.startsWith("honest-")
    const most = isHonest ? limit : Number.POSITIVE_INFINITY
    if (body.stream !== true) this.answer(reply, { model, most })
    else if (model.includes("silent")) await this.reason(reply, { model, most })
    else await this.stream(reply, { model, most })
  }

  private bill(model: string, tokens: number): void {
    this.billed.set(model, (this.billed.get(model) ?? 0) + tokens)
  }

  private answer(reply: UpstreamReply, { model, most }: AnswerScope): void {
    const tokens = Math.min(most, ANSWER_TOKENS.unary)
    this.bill(model, tokens)
    reply.json(completion("Here.", { usage: { prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens } }))
  }

  private async stream(reply: UpstreamReply, { model, most }: AnswerScope): Promise<void> {
    const tokens = Math.min(most, ANSWER_TOKENS.stream)
    let isOpen = true
    void reply.closed.then(() => {
      isOpen = false
    })
    reply.stream()
    await reply.write(chunk({ role: "assistant", content: "" }))
    for (let sent = 0; sent < tokens && isOpen; sent += PIECE_TOKENS) {
      const piece = Math.min(PIECE_TOKENS, tokens - sent)
      this.bill(model, piece)
      await reply.write(chunk({ content: "word".repeat((piece * BYTES_PER_TOKEN) / 4) }))
      await Bun.sleep(PIECE_MS)
    }
    if (isOpen) await this.finish(reply, tokens)
  }

  private async reason(reply: UpstreamReply, { model, most }: AnswerScope): Promise<void> {
    const tokens = Math.min(most, ANSWER_TOKENS["silent reasoning"])
    this.bill(model, tokens)
    reply.stream()
    await reply.write(chunk({ role: "assistant", content: "" }))
    await Bun.sleep(20)
    await reply.write(chunk({ content: "Here." }))
    await this.finish(reply, tokens)
  }

  private async finish(reply: UpstreamReply, tokens: number): Promise<void> {
    const usage = { prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens }
    await reply.write(chunk({}, "stop") + chunk({}, null, { choices: [], usage }) + DONE)
    reply.end()
  }
}

interface AnswerScope {
  readonly model: string
  readonly most: number
}
