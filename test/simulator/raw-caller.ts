// A caller on a bare socket that notes what the network does: each segment, FIN, RST.
import { connect } from "node:net"
import type { SimulatorQuestion } from "./simulated-protocols.ts"

export interface RawSegments {
  /** The bytes of each read, as Latin-1. */
  readonly segments: readonly string[]
  readonly text: string
  /** The other side's close. */
  readonly closed: "fin" | "ECONNRESET" | string
}

export interface RawCall {
  readonly words?: string
  readonly headers?: Record<string, string>
}

/** Posts the question on a connection of its own and listens until that is closed. */
export function readRaw(
  url: string,
  question: SimulatorQuestion,
  { words, headers = {} }: RawCall = {},
): Promise<RawSegments> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  const segments: string[] = []
  let closed = "fin"
  socket.on("data", (bytes: Buffer) => segments.push(bytes.toString("latin1")))
  socket.on("error", (error: NodeJS.ErrnoException) => {
    closed = error.code ?? error.message
  })
  socket.write(requestText(question, { ...(words !== undefined && { "x-simulate": words }), ...headers }))
  return new Promise((resolve) => {
    socket.once("close", () => resolve({ segments, text: segments.join(""), closed }))
  })
}

export function requestText({ path, body }: SimulatorQuestion, headers: Record<string, string> = {}): string {
  const text = JSON.stringify(body)
  const all = { host: "simulator", "content-length": String(Buffer.byteLength(text)), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`
}

/** The body of a chunked answer, and whether its final chunk came. */
export function unchunked(text: string): { body: string; isFinished: boolean; chunks: number } {
  let rest = text.slice(text.indexOf("\r\n\r\n") + 4)
  let body = ""
  for (let chunks = 0; ; chunks++) {
    const size = Number.parseInt(rest, 16)
    if (!(size > 0)) return { body, isFinished: rest === "0\r\n\r\n", chunks }
    const start = rest.indexOf("\r\n") + 2
    body += rest.slice(start, start + size)
    rest = rest.slice(start + size + 2)
  }
}
