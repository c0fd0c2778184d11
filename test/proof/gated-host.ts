// A provider that answers no call before the test opens it, so that nothing is settled before all calls have arrived.
import { chunk, completion, DONE, ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"

interface GatedAnswer {
  readonly outputTokens: number
  /** The length of a stream's text, which is sent in pieces with pauses between them. */
  readonly pieces?: number
}

/** The input tokens that every answer reports. */
export const INPUT_TOKENS = 10
const PIECE_BYTES = 1000
/** Long enough for what one piece asks of the store to be answered before the next. */
const PIECE_MS = 8

export class GatedHost {
  /** Calls that have come, and wait or were answered. */
  calls = 0
  private answer: GatedAnswer = { outputTokens: 1 }
  private gate = Promise.withResolvers<void>()

  private constructor(private readonly upstream: ScriptedUpstream) {}

  static async start(): Promise<GatedHost> {
    const host = new GatedHost(await ScriptedUpstream.start())
    host.upstream.script = host.script
    return host
  }

  get origin(): string {
    return this.upstream.origin
  }

  /** From now on calls wait for this answer, and are counted anew. */
  close(answer: GatedAnswer): void {
    this.calls = 0
    this.answer = answer
    this.gate = Promise.withResolvers<void>()
  }

  /** Answers waiting and new calls, with another answer if one is given. */
  open(answer = this.answer): void {
    this.answer = answer
    this.gate.resolve()
  }

  async stop(): Promise<void> {
    this.open()
    await this.upstream.stop()
  }

  private readonly script: UpstreamScript = async (request, reply) => {
    this.calls++
    await this.gate.promise
    const { outputTokens, pieces = 1 } = this.answer
    const usage = { prompt_tokens: INPUT_TOKENS, completion_tokens: outputTokens }
    if (!request.body.includes('"stream":true')) return reply.json(completion("Here.", { usage }))
    reply.stream()
    await reply.write(chunk({ role: "assistant", content: "" }))
    for (let at = 0; at < pieces; at++) {
      await reply.write(chunk({ content: "word ".repeat(PIECE_BYTES / 5) }))
      if (pieces > 1) await Bun.sleep(PIECE_MS)
    }
    await reply.write(chunk({}, "stop") + chunk({}, null, { choices: [], usage }) + DONE)
    reply.end()
  }
}
