// A client that sends bytes no HTTP library would: repeated headers, odd paths, bodies cut as a test likes.
import { connect } from "node:net"

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** As it came: chunked bodies keep their chunk lines. */
  readonly body: string
}

/** Sends these bytes on a connection of their own and reads until it is closed; ask for `connection: close`. */
export function sendRaw(url: string, bytes: string | Uint8Array): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.once("error", reject)
    socket.once("close", () => resolve(parseAnswer(Buffer.concat(chunks).toString("latin1"))))
  })
}

/** A request head with these lines, in this order. */
export function requestHead(method: string, path: string, headers: readonly (readonly [string, string])[]): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`
}

function parseAnswer(text: string): RawAnswer {
  const border = text.indexOf("\r\n\r\n")
  const [first = "", ...lines] = text.slice(0, border).split("\r\n")
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return {
    status: Number(first.split(" ")[1]),
    headers: Object.fromEntries(headers),
    body: text.slice(border + 4),
  }
}
