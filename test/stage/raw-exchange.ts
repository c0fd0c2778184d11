// One request and its answer as plain text, for requests that no HTTP library sends: repeated headers, odd paths,
// chunks.
import { RawClient } from "./raw-client.ts"

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The raw body: chunked bodies keep their chunk lines. */
  readonly body: string
}

/** Sends these bytes on a connection of their own and reads until it is closed; ask for `connection: close`. */
export async function sendRaw(url: string, bytes: string | Uint8Array): Promise<RawAnswer> {
  const client = await RawClient.connect(url)
  await client.send(bytes)
  await client.closed
  return parseAnswer(client.received)
}

/** A request head with these lines, in this order. */
export function requestHead(line: string, headers: readonly (readonly [string, string])[]): string {
  return `${line} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`
}

function parseAnswer(text: string): RawAnswer {
  const border = text.indexOf("\r\n\r\n")
  const [first = "", ...lines] = text.slice(0, border).split("\r\n")
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return { status: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), body: text.slice(border + 4) }
}
