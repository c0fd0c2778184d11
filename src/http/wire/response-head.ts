// Builds the head of a response.
import { STATUS_CODES } from "node:http"
import type { ClientResponse } from "../../exchange/client-response.ts"

export const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n"

interface ResponseHeadOptions {
  /** Of the body; undefined for a stream. */
  readonly length: number | undefined
  readonly isChunked: boolean
  /** The lines that say what becomes of the connection. */
  readonly connection: string
}

export function headOf(
  { status, headers }: ClientResponse,
  { length, isChunked, connection }: ResponseHeadOptions,
): string {
  const framing = isChunked ? "transfer-encoding: chunked\r\n" : lengthLine(status, length)
  return `${statusLine(status)}${headers.lines()}date: ${dateText()}\r\n${framing}${connection}\r\n`
}

/** The whole response to invalid HTTP. */
export function bareAnswer(status: number): string {
  return `${statusLine(status)}connection: close\r\ncontent-length: 0\r\n\r\n`
}

/** Answers that never have a body do not say how long it is. */
function lengthLine(status: number, length: number | undefined): string {
  return length === undefined || status === 204 || status === 304 ? "" : `content-length: ${length}\r\n`
}

const statusLines = new Map<number, string>()

function statusLine(status: number): string {
  const known = statusLines.get(status)
  if (known !== undefined) return known
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Status"}\r\n`
  statusLines.set(status, line)
  return line
}

let dateSecond = 0
let date = ""

/** To write a date costs more than the rest of a head, and it is another only every second. */
function dateText(): string {
  const now = Date.now()
  const second = Math.floor(now / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    date = new Date(now).toUTCString()
  }
  return date
}
