// The simulator as an HTTP upstream, on plain sockets: an HTTP server could not break an answer as networks do.
import { createServer, type Server, type Socket } from "node:net"
import { openaiErrorFormat } from "./endpoints/openai-error.ts"
import { SocketPlayer } from "./playback/socket-player.ts"
import { type HttpRequest, RequestReader } from "./request-reader.ts"
import { DIRECTIVES_HEADER, Simulator, type SimulatorOptions } from "./simulator.ts"

/** A burst of connections waits to be accepted instead of being refused. */
const BACKLOG = 4096

export interface SimulatorServerOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  readonly simulator?: SimulatorOptions
}

export class SimulatorServer {
  readonly #server: Server
  readonly #simulator: Simulator
  readonly #sockets = new Set<Socket>()

  private constructor(options: SimulatorOptions) {
    // The answer's id identifies every call, even if two requests are equal.
    this.#simulator = new Simulator({ ...options, seed: options.seed ?? crypto.randomUUID() })
    this.#server = createServer((socket) => this.#accept(socket))
  }

  static async start({ host, port, simulator = {} }: SimulatorServerOptions): Promise<SimulatorServer> {
    const server = new SimulatorServer(simulator)
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", (cause) => reject(notListening({ host, port, cause })))
      server.#server.listen({ host, port, backlog: BACKLOG }, resolve)
    })
    return server
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === "string") throw new Error("the simulator does not listen")
    const { address: host, port, family } = address
    return `http://${family === "IPv6" ? `[${host}]` : host}:${port}`
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  /** Ends every connection at once: no real answers are lost. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #accept(socket: Socket): void {
    const connection = new SimulatorConnection(socket, this.#simulator)
    socket.setNoDelay(true)
    this.#sockets.add(socket)
    socket.on("data", (bytes: Buffer) => connection.take(bytes))
    // A reset by the client counts as leaving.
    socket.on("error", () => connection.leave())
    socket.on("end", () => connection.leave())
    socket.on("close", () => {
      connection.leave()
      this.#sockets.delete(socket)
    })
  }
}

function notListening({ host, port, cause }: { host: string; port: number; cause: Error }): Error {
  const isTaken = "code" in cause && cause.code === "EADDRINUSE"
  const reason = isTaken ? "the port is taken; give another with --port" : cause.message
  return new Error(`The simulator cannot listen on ${host}:${port}: ${reason}.`, { cause })
}

/** One client connection; requests are answered one at a time. */
class SimulatorConnection {
  readonly #socket: Socket
  readonly #simulator: Simulator
  readonly #reader = new RequestReader()
  #playing: SocketPlayer | undefined
  #isAnswering = false

  constructor(socket: Socket, simulator: Simulator) {
    this.#socket = socket
    this.#simulator = simulator
  }

  take(bytes: Buffer): void {
    try {
      this.#reader.push(bytes)
      if (!this.#isAnswering) this.#answerNext()
    } catch (thrown) {
      this.#refuse(thrown)
    }
  }

  leave(): void {
    this.#playing?.leave()
  }

  #answerNext(): void {
    const request = this.#reader.next()
    if (request) this.#answer(request)
    else if (this.#reader.waitsForContinue()) this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n")
  }

  #answer(request: HttpRequest): void {
    this.#isAnswering = true
    const { method, target, headers, body, keepsAlive } = request
    if (method !== "POST") {
      this.#say(plainAnswer(request), keepsAlive)
      return
    }
    const playback = this.#simulator.answer({ url: target, body, directives: headers.get(DIRECTIVES_HEADER) })
    const onEnd = () => this.#next()
    this.#playing = new SocketPlayer(this.#socket, { playback, keepsAlive, onEnd })
  }

  /** Runs in a new turn of the event loop, so that pipelined requests do not recurse. */
  #next(): void {
    setImmediate(() => {
      this.#playing = undefined
      this.#isAnswering = false
      this.take(Buffer.alloc(0))
    })
  }

  #say({ status, body }: PlainAnswer, keepsAlive: boolean): void {
    const text = JSON.stringify(body)
    const connection = keepsAlive ? "" : "connection: close\r\n"
    const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${connection}`
    this.#socket.write(`HTTP/1.1 ${status}\r\n${head}\r\n${text}`)
    if (keepsAlive) this.#next()
    else this.#socket.end()
  }

  #refuse(thrown: unknown): void {
    if (this.#isAnswering) this.#socket.destroy()
    else this.#say(failedAnswer(400, thrown instanceof Error ? thrown.message : String(thrown)), false)
    this.#isAnswering = true
  }
}

interface PlainAnswer {
  readonly status: string
  readonly body: object
}

/** A health check, such as `trivium check`, gets a list of models. */
function plainAnswer({ method, target }: HttpRequest): PlainAnswer {
  const [path = ""] = target.split("?", 1)
  if (method !== "GET" || !path.endsWith("/models")) return failedAnswer(404, `Invalid URL (${method} ${path})`)
  const model = { id: "simulator", object: "model", created: 0, owned_by: "trivium" }
  return { status: "200 OK", body: { object: "list", data: [model] } }
}

function failedAnswer(status: 400 | 404, message: string): PlainAnswer {
  const body = openaiErrorFormat.errorBody({ status, message, code: null, requestId: "" })
  return { status: status === 404 ? "404 Not Found" : "400 Bad Request", body: body as object }
}
