// A client connection: handles its requests one after the other. Pipelined requests wait; an invalid request is rejected
// and the connection closed.
import type { Socket } from "bun"
import type { ClientResponse } from "../../exchange/client-response.ts"
import { BodyFraming } from "./body-framing.ts"
import { ChunkFault } from "./chunked-body.ts"
import { ClientRequest } from "./client-request.ts"
import type { DeadlineList, ListWaiter } from "./deadline-list.ts"
import { IncomingBody } from "./incoming-body.ts"
import { OutgoingBytes } from "./outgoing-bytes.ts"
import { type ClientRequestHead, HeadFault, parseHead } from "./request-head.ts"
import { bareAnswer, CONTINUE, headOf } from "./response-head.ts"
import { StreamSender } from "./stream-sender.ts"

const MAX_HEAD = 16 * 1024
/** A client that sends ahead of its answers may send so much. */
const MAX_AHEAD = 64 * 1024
/** So many requests that were sent ahead are begun in one turn of the event loop. */
const HEADS_AT_ONCE = 16
/** The rest of an unread body is skipped up to this many bytes; a longer rest closes the connection. */
const MAX_SKIPPED = 64 * 1024
/** A client whose connection is being closed may send so much more before it has to notice. */
const MAX_DROPPED = 1024 * 1024
const HEAD_END = Buffer.from("\r\n\r\n")

type ConnectionList = DeadlineList<ClientConnection>

/** What a connection needs of the listener. */
export interface ConnectionOwner {
  readonly isStopping: boolean
  /** The lines that tell a client how long it may be idle. */
  readonly keepAliveLines: string
  /** Those whose next request is awaited, is being sent, those that do not take their answer, and those being closed. */
  readonly waiting: {
    readonly idle: ConnectionList
    readonly sending: ConnectionList
    readonly stalled: ConnectionList
    readonly closing: ConnectionList
  }
  handle(request: ClientRequest): ClientResponse | Promise<ClientResponse>
  onFault(cause: unknown): void
  /** A request has begun, or has been answered or given up. */
  began(): void
  ended(): void
}

export class ClientConnection implements ListWaiter<ClientConnection> {
  list: ConnectionList | undefined
  before: ClientConnection | undefined
  behind: ClientConnection | undefined
  since = 0
  /** In the roster of all connections. */
  place = -1
  private input: Buffer | undefined
  private isReading = false
  private request: ClientRequest | undefined
  private framing: BodyFraming | undefined
  private readonly output: OutgoingBytes
  private stream: StreamSender | undefined
  /** Whether it is closed behind the answer. */
  private closes = false
  /** Whether all of the answer is written. */
  private isAnswered = false
  private isClosing = false
  private isPaused = false
  private isBodyHeld = false
  /** Bytes that came when it was being closed. */
  private dropped = 0

  constructor(
    private readonly socket: Socket<ClientConnection>,
    private readonly owner: ConnectionOwner,
  ) {
    this.output = new OutgoingBytes(socket)
    owner.waiting.sending.enter(this, performance.now())
  }

  get address(): string {
    // Of a connection that is closed there is none.
    return this.socket.remoteAddress || "unknown"
  }

  received(bytes: Buffer): void {
    if (this.isClosing) {
      this.dropped += bytes.length
      this.pace()
      return
    }
    this.input = this.input ? Buffer.concat([this.input, bytes]) : bytes
    this.readInput()
  }

  /** The kernel takes bytes again. */
  drained(): void {
    const progressed = this.output.flush()
    if (!this.output.isFlushed) {
      if (progressed) this.awaitProgress()
      return
    }
    if (this.list === this.owner.waiting.stalled) this.list.leave(this)
    if (this.isClosing) this.socket.shutdown()
    else if (this.isAnswered) this.answerSent()
    else this.stream?.goOn()
  }

  /** At once, whatever is under way. */
  terminate(): void {
    this.socket.terminate()
  }

  /** One that is idle ends; one that is busy ends behind its answer. */
  closeSoon(): void {
    if (this.request) this.closes = true
    else if (!this.isClosing) this.close()
  }

  /** The client has disconnected. */
  closed(): void {
    this.isClosing = true
    this.list?.leave(this)
    this.input = undefined
    this.output.drop()
    const { request, stream } = this
    this.request = undefined
    this.stream = undefined
    if (!request) return
    request.leave(new Error("the client has closed its connection"))
    stream?.cancel()
    this.owner.ended()
  }

  /** Whether all of it is with the kernel. */
  write(bytes: string | Uint8Array, length = bytes.length): boolean {
    const isTaken = this.output.write(bytes, length)
    if (!isTaken) this.awaitProgress()
    return isTaken
  }

  /** Nothing more is written of the answer. */
  answered(): void {
    this.stream = undefined
    this.isAnswered = true
    if (this.output.isFlushed) this.answerSent()
    else this.awaitProgress()
  }

  /** A stream has limits of its own for clients that do not take it. */
  private awaitProgress(): void {
    if (!this.stream && !this.isClosing) this.owner.waiting.stalled.enter(this, performance.now())
  }

  private readInput(): void {
    if (this.isReading) return
    this.isReading = true
    let goesOn = true
    let heads = 0
    while (goesOn && this.input && !this.isClosing) {
      if (!this.request && ++heads > HEADS_AT_ONCE) {
        this.readLater()
        return
      }
      if (!this.request) goesOn = this.readHead(this.input)
      else if (!this.request.body.isComplete) this.readBody(this.input)
      else goesOn = false
    }
    this.isReading = false
    this.pace()
  }

  /** One that has sent many requests ahead lets others have their turn. */
  private readLater(): void {
    this.pace()
    setImmediate(() => {
      this.isReading = false
      this.readInput()
    })
  }

  /** The client waits for who reads its body slowly, and for its answers where it has sent much ahead. */
  private pace(): void {
    const isReadingBody = this.request?.body.isComplete === false
    const isAhead = !isReadingBody && (this.input?.length ?? 0) > MAX_AHEAD
    const pauses = this.isClosing ? this.dropped > MAX_DROPPED : this.isBodyHeld || isAhead
    if (pauses === this.isPaused) return
    this.isPaused = pauses
    if (pauses) this.socket.pause()
    else this.socket.resume()
  }

  private readHead(input: Buffer): boolean {
    const start = emptyLines(input)
    const end = input.indexOf(HEAD_END, start)
    if ((end < 0 ? input.length : end) - start > MAX_HEAD) return this.refuse(431)
    if (end < 0) {
      const { idle, sending } = this.owner.waiting
      if (this.list === idle) sending.enter(this, performance.now())
      return false
    }
    const head = parseHead(input.toString("latin1", start, end))
    if (head instanceof HeadFault) return this.refuse(head.status)
    this.input = end + 4 < input.length ? input.subarray(end + 4) : undefined
    this.begin(head)
    return true
  }

  private begin(head: ClientRequestHead): void {
    this.list?.leave(this)
    this.owner.began()
    const body = new IncomingBody(this.flow, { isComplete: head.bodyLength === 0 })
    const request = new ClientRequest(this, head, body)
    this.framing = new BodyFraming(head.bodyLength, body)
    this.request = request
    this.closes = !head.keepsAlive
    if (this.input && !body.isComplete) this.readBody(this.input)
    if (this.isClosing) return
    const answer = this.owner.handle(request)
    if (!(answer instanceof Promise)) this.send(answer, request)
    else
      answer.then(
        (made) => this.sendSafely(made, request),
        (cause) => this.fail(cause),
      )
  }

  private sendSafely(answer: ClientResponse, request: ClientRequest): void {
    try {
      this.send(answer, request)
    } catch (cause) {
      this.fail(cause)
    }
  }

  private fail(cause: unknown): void {
    this.owner.onFault(cause)
    this.terminate()
  }

  private readonly flow = {
    hold: (isHeld: boolean) => {
      this.isBodyHeld = isHeld
      this.pace()
    },
    begin: () => {
      if (this.request?.asksToContinue()) this.write(CONTINUE)
    },
  }

  private readBody(input: Buffer): void {
    try {
      const used = this.framing?.read(input) ?? 0
      this.input = used < input.length ? input.subarray(used) : undefined
    } catch (thrown) {
      if (!(thrown instanceof ChunkFault)) throw thrown
      this.refuse(400)
      return
    }
    if (this.request?.body.isComplete && this.isAnswered && this.output.isFlushed) this.answerSent()
  }

  private send(answer: ClientResponse, request: ClientRequest): void {
    const { body } = answer
    const isStream = typeof body === "object" && body !== null && !(body instanceof Uint8Array)
    if (this.request !== request) {
      if (isStream) body.cancel()
      return
    }
    const isChunked = isStream && request.version === "1.1"
    const isUnread = (this.framing?.missing ?? 0) > MAX_SKIPPED
    if (answer.closesConnection || this.owner.isStopping || isUnread || (isStream && !isChunked)) this.closes = true
    const length = isStream || body === null ? 0 : typeof body === "string" ? Buffer.byteLength(body) : body.byteLength
    const connection = this.closes ? "connection: close\r\n" : this.owner.keepAliveLines
    const head = headOf(answer, { length: isStream ? undefined : length, isChunked, connection })
    if (request.method === "HEAD" || body === null) {
      if (isStream) body.cancel()
      this.write(head)
    } else if (isStream) {
      this.stream = new StreamSender(this, { stream: body, head, isChunked })
      this.stream.start()
      return
    } else if (typeof body === "string") this.write(head + body, head.length + length)
    else this.write(Buffer.concat([Buffer.from(head, "latin1"), body]))
    this.answered()
  }

  private answerSent(): void {
    const { request } = this
    if (!request) return
    this.list?.leave(this)
    if (this.closes) {
      this.endRequest()
      this.close()
    } else if (request.body.isComplete) {
      this.endRequest()
      this.owner.waiting.idle.enter(this, performance.now())
      this.readInput()
    } else {
      // Skips the short rest of an unread body.
      request.body.drop()
      this.owner.waiting.sending.enter(this, performance.now())
    }
  }

  private endRequest(): void {
    this.request?.body.drop()
    this.request = undefined
    this.isAnswered = false
    this.owner.ended()
  }

  /** Invalid HTTP gets a bare status, and later bytes are ignored. */
  private refuse(status: number): false {
    const { request } = this
    if (this.stream || this.isAnswered) {
      this.terminate()
      return false
    }
    request?.leave(new Error("the client sent invalid HTTP"))
    if (request) this.endRequest()
    this.write(bareAnswer(status))
    this.close()
    return false
  }

  /** What the client still sends is taken and dropped for a while: else it might not get to read the answer. */
  private close(): void {
    this.isClosing = true
    this.input = undefined
    this.owner.waiting.closing.enter(this, performance.now())
    this.pace()
    if (this.output.isFlushed) this.socket.shutdown()
  }
}

const CR = 0x0d
const LF = 0x0a

/** Some clients of old send an empty line behind a body. */
function emptyLines(input: Buffer): number {
  let start = 0
  while (start < 4 && input[start] === CR && input[start + 1] === LF) start += 2
  return start
}
