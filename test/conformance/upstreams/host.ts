// A scripted upstream on a real socket: records its requests and sends scripted answers, in one protocol.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { signatureFault } from "../../providers/aws.ts"
import type { ReceivedConversation, ScriptedAnswer } from "../conversation.ts"
import { CREDENTIAL } from "../gateway-config.ts"
import { members, parsed } from "../wire.ts"
import type { EventBytes, UpstreamFormat } from "./upstream-format.ts"
import { brokenRules } from "./vendor-rules.ts"

const PLAIN: ScriptedAnswer = { parts: [{ text: "Hello." }], finish: "stop" }

export class MatrixHost {
  /** The requests since the answer was last set, the last one at the end. */
  readonly received: ReceivedConversation[] = []
  /** Faults in the received requests, independent of the cell. */
  readonly faults: string[] = []
  private answer: ScriptedAnswer = PLAIN

  private constructor(
    readonly format: UpstreamFormat,
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(format: UpstreamFormat, port = 0): Promise<MatrixHost> {
    const server = createServer((request, response) => void host.serve(request, response))
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(port, "127.0.0.1", resolve)
    })
    const address = server.address()
    if (address === null || typeof address === "string") throw new Error("the upstream does not listen")
    const host = new MatrixHost(format, server, address.port)
    return host
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  willAnswer(answer: ScriptedAnswer): void {
    this.answer = answer
    this.received.length = 0
    this.faults.length = 0
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const raw = Buffer.concat(pieces)
    const body = members(parsed(raw.toString()))
    const { format, answer } = this
    const addressed = format.addressed(request.url ?? "", body)
    if (!addressed) {
      this.faults.push(`a call to ${request.method} ${request.url}, which generates nothing`)
      response.writeHead(404, { "content-type": "application/json" }).end("{}")
      return
    }
    const fault = credentialFault(request, raw)
    if (fault !== undefined) this.faults.push(fault)
    const received = format.parseRequest(body, addressed)
    this.faults.push(...brokenRules(format.protocol, { received, body }))
    this.received.push(received)
    if (addressed.stream) await this.stream(answer, { body, response })
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(format.whole(answer, body)))
  }

  private async stream(
    answer: ScriptedAnswer,
    { body, response }: { body: ReturnType<typeof members>; response: ServerResponse },
  ): Promise<void> {
    const { events, untilLastPiece } = this.format.stream(answer, body)
    response.writeHead(200, { "content-type": this.format.contentType })
    const sent = answer.breaks === undefined ? events : events.slice(0, untilLastPiece)
    for (const event of sent) await written(response, event)
    if (answer.breaks === undefined) response.end()
    else {
      // The text must have arrived before the stream breaks.
      await Bun.sleep(20)
      if (answer.breaks === "with an error") response.end(this.format.errorEvent)
      else response.destroy()
    }
  }
}

function written(response: ServerResponse, bytes: EventBytes): Promise<void> {
  return new Promise((resolve) => response.write(bytes, () => resolve()))
}

/** Our credential there must come with every call, and the caller's key with none. */
function credentialFault(request: IncomingMessage, body: Buffer): string | undefined {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join() : (value ?? "")]),
  )
  const { method = "", url: path = "" } = request
  const { authorization = "" } = headers
  if (authorization.startsWith("AWS4")) {
    return signatureFault({ method, path, headers, head: "", body }, CREDENTIAL)
  }
  const credentials = [authorization.replace("Bearer ", ""), headers["x-api-key"], headers["x-goog-api-key"]]
  return credentials.includes(CREDENTIAL.secretAccessKey) ? undefined : "a call without the upstream's credential"
}
