// A provider that several tenants call. It answers each with the words of its request, sometimes in hostile ways: bytes
// beyond an answer contain the words of their call, so that a caller recognises another's.
import { createServer, type Server, type Socket } from "node:net"
import { chunk, completion, DONE } from "../stage/upstream.ts"
import { HOSTILE_ANSWERS } from "./hostile-answers.ts"

interface StrayHostOptions {
  /** After how long each answer is sent once more; undefined where it is not. */
  readonly againAfterMs?: () => number | undefined
  /** The additional delay of hostile answers. */
  readonly slowness?: number
  /** Bytes that are late because this process was busy are not sent any more. */
  readonly latestMs?: number
}

/** `hostile 12` in a call's words requests the answer of that number; its id is between angle brackets. */
const HOSTILE = /hostile (\d+)/
const CALL_ID = /<([^<>"]+)>/
/** So that calls are under way when something comes that is not for them. */
const THINKING_MS = 250

export class StrayHost {
  calls = 0
  strays = 0
  /** The tenants of the calls that each connection carried. */
  private readonly tenants = new Map<Socket, Set<string>>()
  private readonly server: Server

  private constructor(private readonly options: StrayHostOptions) {
    this.server = createServer((socket) => this.accept(socket))
  }

  static async start(options: StrayHostOptions = {}): Promise<StrayHost> {
    const host = new StrayHost(options)
    await new Promise<void>((resolve) => host.server.listen(0, "127.0.0.1", 4096, resolve))
    return host
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}/v1`
  }

  /** Connections that carried calls of several tenants. */
  get handedOver(): number {
    return [...this.tenants.values()].filter(({ size }) => size > 1).length
  }

  async stop(): Promise<void> {
    for (const socket of this.tenants.keys()) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private accept(socket: Socket): void {
    this.tenants.set(socket, new Set())
    socket.setNoDelay(true)
    socket.on("error", () => {})
    let text = ""
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1")
      const headEnd = text.indexOf("\r\n\r\n") + 4
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (headEnd < 4 || text.length < headEnd + length) return
      const body = text.slice(headEnd, headEnd + length)
      text = text.slice(headEnd + length)
      void this.answer(socket, body)
    })
  }

  private async answer(socket: Socket, body: string): Promise<void> {
    const id = CALL_ID.exec(body)?.[1] ?? ""
    this.calls++
    this.tenants.get(socket)?.add(id.split("/")[0] ?? "")
    const hostile = HOSTILE_ANSWERS[Number(HOSTILE.exec(body)?.[1] ?? -1)]
    if (hostile) return this.send(socket, hostile.steps(`<${id}>`, `<stray of ${id}>`))
    await Bun.sleep(Math.random() * THINKING_MS)
    const answer = /"stream": ?true/.test(body) ? streamed(`<${id}>`) : whole(`<${id}>`)
    const againMs = this.options.againAfterMs?.()
    await this.send(
      socket,
      againMs === undefined
        ? [[0, answer]]
        : [
            [0, answer],
            [againMs, answer],
          ],
    )
  }

  private async send(socket: Socket, steps: readonly (readonly [number, string | Buffer])[]): Promise<void> {
    const { slowness = 1, latestMs = Number.POSITIVE_INFINITY } = this.options
    let since = performance.now()
    for (const [index, [ms, what]] of steps.entries()) {
      if (ms > 0) await Bun.sleep(ms * slowness)
      if (socket.destroyed) return
      if (what === "fin") return void socket.end()
      if (what === "reset") return void socket.resetAndDestroy()
      if (index > 0 && performance.now() - since > latestMs) return void socket.destroy()
      if (index > 0) this.strays++
      else since = performance.now()
      socket.write(what)
    }
  }
}

function whole(text: string): string {
  const body = JSON.stringify(completion(text))
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

function streamed(text: string): string {
  const body = chunk({ role: "assistant", content: text }) + chunk({}, "stop") + DONE
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
  return `${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
}
