import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { HttpSyntaxError } from "./http-head.ts"
import { HttpResponseParser, type ResponseHead } from "./http-response-parser.ts"

interface ParsedResponse {
  status?: number
  /** The length announced in the head. */
  length?: number | undefined
  headers: Record<string, string>
  body: string
  ended: boolean
  keepsAlive: boolean
}

/** Parses these bytes in pieces cut at these offsets. */
function read(text: string, { cuts = [], closes = false }: { cuts?: number[]; closes?: boolean } = {}): ParsedResponse {
  const seen: Omit<ParsedResponse, "keepsAlive"> = { headers: {}, body: "", ended: false }
  const parser = new HttpResponseParser({
    head: ({ status, headers, length }: ResponseHead) => {
      if (seen.status !== undefined) throw new Error("two heads")
      seen.status = status
      seen.length = length
      seen.headers = Object.fromEntries(headers)
    },
    piece: (bytes) => {
      if (bytes.byteLength === 0) throw new Error("an empty piece")
      seen.body += Buffer.from(bytes).toString("latin1")
    },
    end: () => {
      if (seen.ended) throw new Error("two ends")
      seen.ended = true
    },
  })
  const bytes = Buffer.from(text, "latin1")
  const places = [0, ...[...new Set(cuts)].sort((a, b) => a - b), bytes.length]
  for (let at = 1; at < places.length; at++) {
    const piece = bytes.subarray(places[at - 1], places[at])
    // A socket hands out a buffer of its own.
    if (piece.length > 0) parser.push(new Uint8Array(piece))
  }
  if (closes) parser.close()
  return { ...seen, keepsAlive: parser.keepsAlive }
}

const OK = "HTTP/1.1 200 OK\r\n"
const wholes: Record<string, [text: string, expected: Partial<ParsedResponse>]> = {
  "a length": [`${OK}Content-Length: 5\r\nX-Odd:  a b \r\n\r\nhello`, { body: "hello", keepsAlive: true, length: 5 }],
  "a length of 0": [`${OK}content-length: 0\r\n\r\n`, { body: "", keepsAlive: false }],
  chunks: [
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n`,
    { body: "hello!", keepsAlive: true },
  ],
  "chunks with a trailer": [
    `${OK}transfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nx: y\r\n\r\n`,
    { body: "0123456789" },
  ],
  "no body": ["HTTP/1.1 204 No Content\r\n\r\n", { status: 204, body: "", keepsAlive: false }],
  "no body and a length": [
    "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n",
    { status: 304, body: "", keepsAlive: false, length: 0 },
  ],
  "no body and chunks": [
    "HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n",
    { status: 204, body: "", keepsAlive: false },
  ],
  "no reason": ["HTTP/1.1 200\r\ncontent-length: 1\r\n\r\nx", { body: "x" }],
  "an interim answer before": [
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\na: b\r\n\r\n${OK}content-length: 2\r\n\r\nhi`,
    { body: "hi" },
  ],
  "connection: close": [`${OK}connection: close\r\ncontent-length: 2\r\n\r\nhi`, { body: "hi", keepsAlive: false }],
  "HTTP/1.0": ["HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", { body: "hi", keepsAlive: false }],
  "the same length twice": [`${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nhi`, { body: "hi", keepsAlive: true }],
  "a header twice": [
    `${OK}a: 1\r\nA: 2\r\ncontent-length: 0\r\n\r\n`,
    { headers: { a: "1, 2", "content-length": "0" } },
  ],
  "chunks and a length": [
    `${OK}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    { body: "hi", keepsAlive: false, length: undefined, headers: { "transfer-encoding": "chunked" } },
  ],
  "chunks from a host of HTTP/1.0": [
    "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    { body: "hi", keepsAlive: false },
  ],
  "many small chunks": [
    `${OK}transfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n2;a=b\r\nyz\r\n".repeat(20)}0\r\n\r\n`,
    { body: "xyz".repeat(20), keepsAlive: true },
  ],
}

describe("an answer", () => {
  test.each(Object.entries(wholes))(
    "an answer with %s is parsed alike at any cut of its bytes",
    (_, [text, expected]) => {
      const whole = read(text)
      expect(whole).toMatchObject({ status: 200, ended: true, ...expected })
      const bytes = Array.from({ length: text.length }, (_, at) => at)
      for (const at of bytes) expect(read(text, { cuts: [at] })).toEqual(whole)
      expect(read(text, { cuts: bytes })).toEqual(whole)
    },
  )

  test("an answer without length or chunks ends with its connection", () => {
    const text = `${OK}\r\nall of it`
    expect(read(text)).toMatchObject({ body: "all of it", ended: false })
    expect(read(text, { closes: true })).toMatchObject({ body: "all of it", ended: true, keepsAlive: false })
  })

  const cutOff = [
    `${OK}content-length: 5\r\n\r\nhell`,
    `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    "HTTP/1.1 2",
    OK,
    "",
  ]
  test.each(cutOff)("a truncated answer is incomplete: %j", (text) => {
    expect(read(text).ended).toBe(false)
    expect(() => read(text, { closes: true })).toThrow(HttpSyntaxError)
  })

  const chunked = `${OK}transfer-encoding: chunked\r\n\r\n`
  const broken: Record<string, string> = {
    "no status line": "hello\r\n\r\n",
    "HTTP/2": "HTTP/2 200 OK\r\n\r\n",
    "a status beyond all": "HTTP/1.1 999 OK\r\n\r\n",
    "a changed protocol": "HTTP/1.1 101 Switching\r\n\r\n",
    "two lengths": `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nxx`,
    "a length that is not a number": `${OK}content-length: +1\r\n\r\nx`,
    "a negative length": `${OK}content-length: -1\r\n\r\nx`,
    "an unknown encoding": `${OK}transfer-encoding: gzip, chunked\r\n\r\n`,
    "a folded header": `${OK}a: b\r\n c\r\n\r\n`,
    "a space before the colon": `${OK}content-length : 1\r\n\r\nx`,
    "a header without a colon": `${OK}hello\r\n\r\n`,
    "NUL in a header": `${OK}a: \0\r\n\r\n`,
    "a size that is not a number": `${chunked}zz\r\n`,
    "a size with a sign": `${chunked}-1\r\n`,
    "a size beyond all bounds": `${chunked}fffffffffffff\r\n`,
    "a chunk longer than its size": `${chunked}1\r\nxx\r\n`,
    "a size line ending in LF": `${chunked}1\nx\r\n0\r\n\r\n`,
    "a size line without end": `${chunked}1;${"x".repeat(5000)}`,
    "a head without end": `${OK}${"a: b\r\n".repeat(20_000)}`,
    "bytes after its end": `${OK}content-length: 1\r\n\r\nxy`,
    "bytes after the last chunk": `${chunked}0\r\n\r\nx`,
    "a body after a 204": "HTTP/1.1 204 No Content\r\n\r\nx",
    "a length after a vertical tab": `${OK}content-length:\v1\r\n\r\nx`,
    "an encoding before a no-break space": `${OK}transfer-encoding: chunked\xa0\r\n\r\n`,
    "too many interim answers": `${"HTTP/1.1 102 Processing\r\n\r\n".repeat(300)}${OK}content-length: 1\r\n\r\nx`,
    "long heads of interim answers": `${`HTTP/1.1 103 Hints\r\na: ${"b".repeat(1000)}\r\n\r\n`.repeat(70)}${OK}content-length: 1\r\n\r\nx`,
    "a head that is too long, although it ends": `${OK}${"a: b\r\n".repeat(20_000)}content-length: 1\r\n\r\nx`,
    "chunk extensions without end": `${chunked}${`1;${"x".repeat(4000)}\r\ny\r\n`.repeat(300)}0\r\n\r\n`,
  }
  test.each(Object.entries(broken))("an answer with %s is rejected at any cut of its bytes", (_, text) => {
    expect(() => read(text)).toThrow(HttpSyntaxError)
    const step = Math.max(1, Math.floor(text.length / 50))
    for (let at = 1; at < text.length; at += step) expect(() => read(text, { cuts: [at] })).toThrow(HttpSyntaxError)
  })

  test("an answer in small chunks is handed out in few pieces", () => {
    const text = `${chunked}${"1\r\nx\r\n".repeat(10_000)}`
    let pieces = 0
    let body = ""
    const parser = new HttpResponseParser({
      head: () => {},
      piece: (bytes) => {
        pieces++
        body += Buffer.from(bytes).toString("latin1")
      },
      end: () => {},
    })
    parser.push(new Uint8Array(Buffer.from(text, "latin1")))
    expect(body).toBe("x".repeat(10_000))
    expect(pieces).toBe(1)
  })

  test("an answer in any chunks, cut anywhere, is their concatenation", () => {
    const pieces = fc.array(fc.string({ minLength: 1, unit: "binary-ascii" }), { maxLength: 8 })
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(500)), (chunks, cuts) => {
        const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")
        const text = `${chunked}${body}0\r\n\r\n`
        const inside = cuts.filter((cut) => cut < text.length)
        expect(read(text, { cuts: inside })).toMatchObject({ body: chunks.join(""), ended: true })
      }),
    )
  })

  test("an answer of any bytes is parsed or rejected", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), (noise) => {
        for (const text of [noise, OK + noise, chunked + noise]) {
          try {
            read(text, { closes: true })
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(HttpSyntaxError)
          }
        }
      }),
    )
  })
})
