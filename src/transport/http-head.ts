// Reads the head of an HTTP/1.1 answer: its status and headers. Strict: what is doubtful is an error.

export class HttpSyntaxError extends Error {
  override readonly name = "HttpSyntaxError"
}

export interface ParsedHead {
  readonly status: number
  readonly isHttp10: boolean
  /** By name in lower case; those that came more than once joined with a comma. */
  readonly headers: Map<string, string>
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** A line may end in nothing else, and hold neither. */
const STRAY = /\0|\r(?!\n)|(?<!\r)\n/

/** `text` is byte text without the blank line that ends the head. */
export function parseHead(text: string): ParsedHead {
  const [first = "", ...lines] = text.split("\r\n")
  const [, minor, status] = STATUS_LINE.exec(first) ?? []
  if (status === undefined) throw new HttpSyntaxError("the first line is not a status line")
  if (STRAY.test(text)) throw new HttpSyntaxError("a control character in the head")
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(":")
    const name = headerName(line.slice(0, Math.max(colon, 0)))
    const value = headerValue(line, colon + 1)
    const before = headers.get(name)
    if (before !== undefined && name === "content-length" && before !== value) {
      throw new HttpSyntaxError("two different lengths")
    }
    headers.set(name, before === undefined || name === "content-length" ? value : `${before}, ${value}`)
  }
  return { status: Number(status), isHttp10: minor === "0", headers }
}

/** Hosts use few names, so each is looked at once. */
const names = new Map<string, string>()
const MAX_NAMES = 1000

function headerName(written: string): string {
  const known = names.get(written)
  if (known !== undefined) return known
  if (!NAME.test(written)) throw new HttpSyntaxError("a header line is malformed")
  const name = written.toLowerCase()
  if (names.size < MAX_NAMES) names.set(written, name)
  return name
}

const SPACE = 0x20
const TAB = 0x09

/** Without the spaces and tabs around it; `trim` would take more than HTTP allows there, such as a no-break space. */
function headerValue(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isBlank(line.charCodeAt(start))) start++
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

export function parseLength(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new HttpSyntaxError("the content length is not a number")
  return Number(text)
}
