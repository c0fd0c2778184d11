// The response that is handed to the listener: plain data, at half the cost of a `Response`.
import type { ResponseHeaderFields, ResponseHeaderName } from "../canonical/response-headers.ts"

export type ResponseBody = string | Uint8Array | ResponseStream | null

/** Where a stream's bytes go. */
export interface ResponseSink {
  enqueue(bytes: Uint8Array): void
  /** Ends the stream. */
  close(): void
  /** Aborts the stream so that the client notices the truncation. */
  error(cause: unknown): void
}

/** A pull stream of bytes, at less cost than a `ReadableStream`. */
export interface ResponseStream {
  start(sink: ResponseSink): void
  /** Called when all earlier bytes are taken; not again before its promise resolves. */
  pull(): Promise<void> | void
  /** The consumer has stopped reading. */
  cancel(): void
}

/** What a header's value may not hold: line ends above all. */
const UNPRINTABLE = /[^\t\x20-\x7e]/
const ALL_UNPRINTABLE = /[^\t\x20-\x7e]/g

/** Header fields in the order they were set. Names are written in lower case. */
export class ResponseHeaders {
  private readonly names: string[]
  private readonly values: string[]

  constructor(others?: ResponseHeaders) {
    this.names = others ? others.names.slice() : []
    this.values = others ? others.values.slice() : []
  }

  get(name: string): string | null {
    return this.values[this.names.indexOf(name)] ?? null
  }

  set(name: ResponseHeaderName, value: string): void {
    // Almost none holds any, and to look costs a third of replacing nothing.
    const printable = UNPRINTABLE.test(value) ? value.replace(ALL_UNPRINTABLE, "?") : value
    const at = this.names.indexOf(name)
    if (at >= 0) this.values[at] = printable
    else {
      this.names.push(name)
      this.values.push(printable)
    }
  }

  /** Adds a header that is not there yet, with a value of printable ASCII. */
  add(name: ResponseHeaderName, value: string): void {
    this.names.push(name)
    this.values.push(value)
  }

  setAll(fields: ResponseHeaderFields): void {
    for (const [name, value] of Object.entries(fields)) this.set(name as ResponseHeaderName, value)
  }

  append(name: ResponseHeaderName, value: string): void {
    const known = this.get(name)
    this.set(name, known === null ? value : `${known}, ${value}`)
  }

  /** As lines of HTTP, each with its end. */
  lines(): string {
    const { names, values } = this
    let lines = ""
    for (let at = 0; at < names.length; at++) lines += `${names[at]}: ${values[at]}\r\n`
    return lines
  }
}

export class ClientResponse {
  /** The connection is closed behind it. */
  closesConnection = false

  constructor(
    readonly body: ResponseBody,
    readonly status: number,
    readonly headers: ResponseHeaders = new ResponseHeaders(),
  ) {}
}
