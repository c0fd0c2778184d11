// One cell of the matrix: the exchange of one client with one upstream, and the checks of both ends.
import { isDeepStrictEqual } from "node:util"
import { type CellName, modelOf } from "./axes.ts"
import type { MatrixClient } from "./clients/client.ts"
import type {
  ClientOutcome,
  ClientReply,
  FinishKind,
  MatrixRequest,
  ReceivedConversation,
  ScriptedAnswer,
} from "./conversation.ts"
import { SERVED } from "./gateway-config.ts"
import type { MatrixHost } from "./upstreams/host.ts"

/** A call was refused as one that this pair cannot carry. */
export class RefusedRequest extends Error {}
/** A call failed, so that there is nothing more to see. */
class StuckExchange extends Error {}

interface ExchangeScript {
  readonly answer: ScriptedAnswer
  readonly stream: boolean
  /** Whether losses are allowed; otherwise none may be reported. */
  readonly mayLose?: boolean
}

export interface ExchangeResult {
  readonly reply: ClientReply
  readonly received: ReceivedConversation
  readonly pieces: readonly string[]
}

export class MatrixCell {
  /** Expectations that failed. */
  readonly problems: string[] = []
  /** Notes for readers of the table about a cell that passes. */
  readonly notes = new Set<string>()

  private readonly client: MatrixClient
  private readonly host: MatrixHost

  constructor(
    readonly name: CellName,
    { client, host }: { client: MatrixClient; host: MatrixHost },
  ) {
    this.client = client
    this.host = host
  }

  /** Whether the request is relayed and not translated. */
  get isRelayed(): boolean {
    return this.name.client === this.name.upstream
  }

  /** Sends the request and returns its answer; any failure ends the cell. */
  async exchange(ask: MatrixRequest, script: ExchangeScript): Promise<ExchangeResult> {
    const { reply, failure, pieces } = await this.send(ask, script)
    const [received] = this.host.received
    if (failure?.status === 400 && failure.code === "unsupported_parameter") {
      this.seen("requests at the upstream, of a call that is refused", this.host.received.length).is(0)
      throw new RefusedRequest(failure.message)
    }
    if (failure) throw this.stuck("an answer", `${failure.status ?? "no status"}: ${failure.message}`)
    if (!reply || !received) throw this.stuck("a request at the upstream", "none")
    const { upstream } = this.name
    this.seen("number of requests at the upstream", this.host.received.length).is(1)
    this.seen("model at the upstream", received.model).is(SERVED[upstream].model)
    this.seen("stream at the upstream", received.stream).is(script.stream)
    if (script.stream) this.seen("text in pieces", pieces.join("")).is(reply.text)
    if (!script.mayLose && !this.isRelayed) this.seen("losses", reply.losses).is(undefined)
    return { reply, received, pieces }
  }

  /** Sends the request and returns its outcome, a failure included. */
  async send(ask: MatrixRequest, { answer, stream }: ExchangeScript): Promise<ClientOutcome> {
    this.host.willAnswer(answer)
    const outcome = await this.client.send(ask, { stream })
    for (const fault of this.host.faults) this.problems.push(`the upstream got ${fault}`)
    return outcome
  }

  /** An observed value, to be compared with the expected one. */
  seen(what: string, seen: unknown): { is(expected: unknown): void } {
    return {
      is: (expected) => {
        if (!isDeepStrictEqual(plain(seen), plain(expected))) this.problem(what, { expected, seen })
      },
    }
  }

  /** The answer has the finish reason of the client's protocol. */
  ended({ finish }: ClientReply, ending: FinishKind): void {
    const words = this.client.endings[ending]
    if (!words.includes(finish)) this.problem("finish", { expected: words.join(" or "), seen: finish })
  }

  /** A loss is reported in the header. */
  lost(what: string, { reply: { losses = "" }, as }: { reply: ClientReply; as: RegExp }): void {
    if (!as.test(losses)) this.problem(`${what}, or its loss in the header`, { expected: String(as), seen: losses })
  }

  problem(what: string, { expected, seen }: { expected: unknown; seen: unknown }): void {
    this.problems.push(`${what}: expected ${shown(expected)}, saw ${shown(seen)}`)
  }

  note(sentence: string): void {
    this.notes.add(sentence)
  }

  get model(): string {
    return modelOf(this.name.upstream)
  }

  private stuck(expected: string, seen: string): StuckExchange {
    return new StuckExchange(`expected ${expected}, saw ${seen}`)
  }
}

/** A value without undefined members, which JSON does not have. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function shown(value: unknown): string {
  const shown = typeof value === "string" ? value : JSON.stringify(value)
  return shown === undefined || shown.length <= 600 ? String(shown) : `${shown.slice(0, 600)}…`
}
