// The head of an HTTP/1.x request: parsed strictly, for what one reader takes and another does not is how requests are
// smuggled.

/** Why a head is refused, as the status that says so. */
export class HeadFault {
  constructor(readonly status: 400 | 405 | 431 | 505) {}
}

/** How many bytes a body has: so many, or as its chunks say. */
type BodyLength = number | "chunked"

export interface ClientRequestHead {
  readonly method: string
  /** Begins with a slash: the path as it was sent, and the query. */
  readonly target: string
  readonly headers: RequestHeaders
  readonly bodyLength: BodyLength
  readonly version: "1.0" | "1.1"
  /** Whether the client means to send more on the connection. */
  readonly keepsAlive: boolean
}

export class RequestHeaders {
  constructor(
    private readonly names: readonly string[],
    private readonly values: readonly string[],
  ) {}

  /** By its name in lower case; what was sent more than once is joined with commas. */
  get(name: string): string | null {
    const at = this.names.indexOf(name)
    if (at < 0) return null
    const value = this.values[at] ?? null
    return this.names.indexOf(name, at + 1) < 0 ? value : this.joined(name)
  }

  has(name: string): boolean {
    return this.names.includes(name)
  }

  private joined(name: string): string {
    return this.values.filter((_, at) => this.names[at] === name).join(", ")
  }
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
/** No control characters, and no half of a line's end. */
const LINES = /^(?:[\t\x20-\x7e\x80-\xff]*\r\n)*[\t\x20-\x7e\x80-\xff]*$/
const NOT_IN_TARGET = /[^\x21-\x7e]|#/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const LENGTH = /^\d{1,15}$/
const ORIGIN = /^https?:\/\/[^/?]+/i
const MAX_FIELDS = 200

/** `text` is what comes before the empty line, in Latin-1. */
export function parseHead(text: string): ClientRequestHead | HeadFault {
  if (!LINES.test(text)) return new HeadFault(400)
  const lineEnd = text.indexOf("\r\n")
  const line = lineEnd < 0 ? text : text.slice(0, lineEnd)
  const firstSpace = line.indexOf(" ")
  const lastSpace = line.lastIndexOf(" ")
  const version = versionIn(line.slice(lastSpace + 1))
  if (version instanceof HeadFault) return version
  const target = pathIn(line.slice(firstSpace + 1, lastSpace))
  const headers = lineEnd < 0 ? undefined : parseFields(text, lineEnd)
  if (target === undefined || headers === undefined || (version === "1.1" && !headers.has("host")))
    return new HeadFault(400)
  const method = line.slice(0, firstSpace)
  if (!METHODS.has(method)) return new HeadFault(TOKEN.test(method) ? 405 : 400)
  const bodyLength = bodyLengthOf(headers, version)
  if (bodyLength instanceof HeadFault) return bodyLength
  return { method, target, headers, bodyLength, version, keepsAlive: keepsAlive(headers, version) }
}

function versionIn(word: string): ClientRequestHead["version"] | HeadFault {
  if (word === "HTTP/1.1") return "1.1"
  if (word === "HTTP/1.0") return "1.0"
  return new HeadFault(/^HTTP\/\d\.\d$/.test(word) ? 505 : 400)
}

/** A client may send the absolute form, as to a proxy. */
function pathIn(target: string): string | undefined {
  if (target === "" || NOT_IN_TARGET.test(target)) return undefined
  if (target.startsWith("/")) return target
  const origin = ORIGIN.exec(target)?.[0]
  if (origin === undefined) return undefined
  const path = target.slice(origin.length)
  return path.startsWith("/") ? path : `/${path}`
}

function parseFields(text: string, lineEnd: number): RequestHeaders | undefined {
  const names: string[] = []
  const values: string[] = []
  for (let start = lineEnd + 2; start <= text.length; ) {
    const next = text.indexOf("\r\n", start)
    const end = next < 0 ? text.length : next
    const field = fieldAt(text, start, { end, place: names.length })
    if (field === undefined || names.length === MAX_FIELDS) return undefined
    names.push(field.name)
    values.push(trimField(text, start + field.opening.length, end))
    start = end + 2
  }
  return new RequestHeaders(names, values)
}

interface FieldOpening {
  /** The name as it was spelled, and its colon. */
  readonly opening: string
  readonly name: string
}

/** The openings of the head before, by their places: the next head mostly has the same. */
const openings: FieldOpening[] = []

function fieldAt(
  text: string,
  start: number,
  { end, place }: { readonly end: number; readonly place: number },
): FieldOpening | undefined {
  const before = openings[place]
  if (before !== undefined && text.startsWith(before.opening, start)) return before
  const colon = text.indexOf(":", start)
  const name = colon < 0 || colon > end ? undefined : fieldName(text.slice(start, colon))
  if (name === undefined) return undefined
  const field = { opening: text.slice(start, colon + 1), name }
  if (place < MAX_FIELDS) openings[place] = field
  return field
}

/** Clients send few names, each in its own spelling: a name is checked and put in lower case once. */
const knownNames = new Map<string, string>()
const MAX_KNOWN = 1000

function fieldName(spelling: string): string | undefined {
  const known = knownNames.get(spelling)
  if (known !== undefined) return known
  if (!TOKEN.test(spelling)) return undefined
  const name = spelling.toLowerCase()
  if (knownNames.size < MAX_KNOWN) knownNames.set(spelling, name)
  return name
}

const SPACE = 0x20
const TAB = 0x09

/** Without the spaces and tabs around it, and those alone: other blanks are part of a value. */
function trimField(text: string, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

function bodyLengthOf(headers: RequestHeaders, version: ClientRequestHead["version"]): BodyLength | HeadFault {
  const length = headers.get("content-length")
  const encoding = headers.get("transfer-encoding")
  if (encoding === null) return length === null ? 0 : LENGTH.test(length) ? Number(length) : new HeadFault(400)
  if (length !== null || version === "1.0") return new HeadFault(400)
  return encoding.toLowerCase() === "chunked" ? "chunked" : new HeadFault(400)
}

function keepsAlive(headers: RequestHeaders, version: ClientRequestHead["version"]): boolean {
  const connection = headers.get("connection")
  if (connection === null) return version === "1.1"
  const words = connection
    .toLowerCase()
    .split(",")
    .map((word) => word.trim())
  return version === "1.1" ? !words.includes("close") : words.includes("keep-alive") && !words.includes("close")
}
