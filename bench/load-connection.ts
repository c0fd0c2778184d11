// One keep-alive client connection: sends a request, reads its answer, checks that it is whole, counts it.
import type { Socket } from "bun"
import { AnswerReader } from "./answer-reader.ts"
import type { LoadJob } from "./load-job.ts"
import type { LoadTally } from "./load-tally.ts"

const LINE_FEED = 10

type LoadConnectionOptions = {
  job: LoadJob
  /** The request to send now. */
  next(): Buffer
  tally: LoadTally
  /** The connection may send again. */
  onIdle(connection: LoadConnection): void
}

export class LoadConnection {
  readonly #options: LoadConnectionOptions
  readonly #reader: AnswerReader
  readonly #closed = Promise.withResolvers<void>()
  #socket: Socket<undefined> | undefined
  #busy = false
  #unsent: Buffer | undefined
  #startedAt = 0
  #status = 0
  #bodyBytes = 0
  #lineFeeds = 0
  #tail = ""

  constructor(options: LoadConnectionOptions) {
    this.#options = options
    const { tally } = options
    this.#reader = new AnswerReader({
      onHead: (status) => {
        this.#status = status
      },
      onBody: (piece) => this.#readBody(piece),
      onChunk: () => {
        tally.chunks++
      },
      onEnd: () => this.#endAnswer(),
    })
  }

  /** Settles when the connection is gone, for whatever reason. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  async open(): Promise<void> {
    this.#socket = await Bun.connect<undefined>({
      hostname: "127.0.0.1",
      port: this.#options.job.port,
      socket: {
        data: (_, bytes) => this.#receive(bytes),
        drain: () => this.#flush(),
        close: () => this.#lost("the connection was closed"),
        error: (_, error) => this.#lost(error.message),
      },
    })
    this.#socket.setNoDelay(true)
  }

  /** Sends the job's request. `since` is when it fell due, from where its latency counts. */
  send(since = performance.now()): void {
    this.#busy = true
    this.#startedAt = since
    this.#status = 0
    this.#bodyBytes = 0
    this.#lineFeeds = 0
    this.#tail = ""
    this.#unsent = this.#options.next()
    this.#flush()
  }

  close(): void {
    this.#socket?.end()
    this.#closed.resolve()
  }

  abandon(why: string): void {
    this.#lost(why)
    this.#socket?.terminate()
  }

  #flush(): void {
    if (!this.#unsent || !this.#socket) return
    const written = this.#socket.write(this.#unsent)
    if (written < 0) return
    this.#unsent = written < this.#unsent.length ? this.#unsent.subarray(written) : undefined
  }

  #receive(bytes: Buffer): void {
    this.#options.tally.reads++
    try {
      this.#reader.push(bytes)
    } catch (error) {
      this.abandon(String(error))
    }
  }

  #readBody(piece: Buffer): void {
    if (this.#bodyBytes === 0) this.#options.tally.firstBytes.push(performance.now() - this.#startedAt)
    this.#bodyBytes += piece.length
    const { minimumEvents, endMark } = this.#options.job
    if (minimumEvents === 0) return
    // Counting line feeds rather than events: the sum does not depend on where the bytes were cut.
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1)) this.#lineFeeds++
    this.#tail = (this.#tail + piece.toString("latin1", Math.max(0, piece.length - endMark.length))).slice(
      -endMark.length,
    )
  }

  #endAnswer(): void {
    const { job, tally, onIdle } = this.#options
    this.#busy = false
    const events = this.#lineFeeds / 2
    const fault = this.#fault(events)
    if (fault) tally.fail(fault)
    if (job.minimumEvents > 0) tally.events += events
    tally.requests++
    tally.latencies.push(performance.now() - this.#startedAt)
    onIdle(this)
  }

  #fault(events: number): string | undefined {
    const { minimumEvents, endMark } = this.#options.job
    if (this.#status !== 200) return `status ${this.#status}`
    if (this.#bodyBytes === 0) return "an empty answer"
    if (minimumEvents === 0) return undefined
    if (this.#tail !== endMark) return "a stream without its end mark"
    return events < minimumEvents ? `a stream of ${events} events instead of ${minimumEvents}` : undefined
  }

  #lost(why: string): void {
    if (this.#busy) this.#options.tally.fail(why)
    this.#busy = false
    this.#closed.resolve()
  }
}
