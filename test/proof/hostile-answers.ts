// Hostile answers: each answers its caller and tries to leave bytes on the connection that the next caller would take
// for its own answer.
import { deflateRawSync, gzipSync } from "node:zlib"
import { completion } from "../stage/upstream.ts"

/** Bytes to send so long after the ones before, or how to end the connection. */
type SocketStep = readonly [afterMs: number, what: string | Buffer | "fin" | "reset"]

export interface HostileAnswer {
  readonly what: string
  /** `own` is for the caller; `stray` for the next user of the connection. */
  steps(own: string, stray: string): readonly SocketStep[]
}

const OK = "HTTP/1.1 200 OK\r\n"
const TYPE = "content-type: application/json\r\n"
const bodyOf = (text: string) => JSON.stringify(completion(text))

/** A whole answer of this status and these headers. */
function answerOf(text: string, { status = "200 OK", more = "" } = {}): string {
  const body = bodyOf(text)
  return `HTTP/1.1 ${status}\r\n${TYPE}${more}content-length: ${body.length}\r\n\r\n${body}`
}

const inChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const chunked = (text: string) => `${inChunk(text)}0\r\n\r\n`
const CHUNKS = `${OK}${TYPE}transfer-encoding: chunked\r\n`
/** The end of a host that would otherwise be left to the time-outs. */
const END: SocketStep = [300, "fin"]
/** Later, and still within the second in which a connection is not handed over. */
const LATER = [1, 40, 150, 400, 850]

type HostileText = string | ((own: string, stray: string) => string | readonly SocketStep[])

/** From what is sent at once; it ends after a while, where the gateway would wait for more. */
function kind(what: string, written: HostileText): HostileAnswer {
  return {
    what,
    steps(own, stray) {
      const steps = typeof written === "string" ? written : written(own, stray)
      return typeof steps === "string" ? [[0, steps], END] : steps
    },
  }
}

/** A head before a whole body and its stray answer, with the length it should have. */
const headed = (what: string, head: (length: number) => string) =>
  kind(what, (own, stray) => `${head(bodyOf(own).length)}\r\n${bodyOf(own)}${answerOf(stray)}`)

const lengths: readonly HostileAnswer[] = [
  headed("a length that is too short", (length) => `${OK}${TYPE}content-length: ${length - 1}\r\n`),
  headed("a length that is too long", (length) => `${OK}${TYPE}content-length: ${length + 7}\r\n`),
  headed("a length and chunks", (length) => `${OK}content-length: ${length}\r\ntransfer-encoding: chunked\r\n`),
  headed("two lengths", (length) => `${OK}content-length: ${length}\r\ncontent-length: ${length + 1}\r\n`),
  headed("the same length twice", (length) => `${OK}content-length: ${length}\r\ncontent-length: ${length}\r\n`),
  headed("a list of lengths", (length) => `${OK}content-length: ${length}, ${length}\r\n`),
  headed("no length", () => `${OK}${TYPE}`),
  ...["+5", "-5", "0x5", "5.0", "5e1", "", " ", "five", "99999999999999999999", "5;", "\v5", "5\xa0"].map((written) =>
    headed(`the length ${JSON.stringify(written)}`, () => `${OK}content-length: ${written}\r\n`),
  ),
  headed("a length behind a space in its name", (length) => `${OK}content-length : ${length}\r\n`),
  headed("a folded length", (length) => `${OK}content-length:\r\n ${length}\r\n`),
  headed("an underscore in the length's name", (length) => `${OK}content_length: ${length}\r\n`),
]

const encodings: readonly HostileAnswer[] = [
  ...[
    "identity",
    "gzip, chunked",
    "chunked, chunked",
    "chunked, identity",
    "xchunked",
    "chunked\v",
    "chunked;q=1",
    "",
  ].map((written) =>
    kind(`the encoding ${JSON.stringify(written)}`, (own, stray) => {
      return `${OK}transfer-encoding: ${written}\r\n\r\n${chunked(bodyOf(own))}${answerOf(stray)}`
    }),
  ),
  kind("chunks before a length", (own, stray) => {
    return `${CHUNKS}content-length: 3\r\n\r\n${chunked(bodyOf(own))}${answerOf(stray)}`
  }),
  kind("chunks of HTTP/1.0", (own, stray) => {
    return `HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n${chunked(bodyOf(own))}${answerOf(stray)}`
  }),
  kind("a length of HTTP/1.0", (own, stray) => [
    [0, answerOf(own, { more: "connection: keep-alive\r\n" }).replace("HTTP/1.1", "HTTP/1.0")],
    [100, answerOf(stray)],
  ]),
]

const sizes = [
  "+1",
  "-1",
  "0x1",
  " 1",
  "1 ",
  "1\t;x",
  "g",
  "",
  "fffffffffffff",
  "1;\n",
  "1\n",
  "00000000000000001",
  "1,1",
]
const chunks: readonly HostileAnswer[] = [
  ...sizes.map((size) =>
    kind(`a chunk of size ${JSON.stringify(size)}`, (own, stray) => {
      return `${CHUNKS}\r\n${inChunk(bodyOf(own))}${size}\r\nx\r\n0\r\n\r\n${answerOf(stray)}`
    }),
  ),
  kind("a chunk that is longer", (own, stray) => `${CHUNKS}\r\n1\r\n${bodyOf(own)}\r\n0\r\n\r\n${answerOf(stray)}`),
  kind("a chunk that is shorter", (own, stray) => `${CHUNKS}\r\nffff\r\n${bodyOf(own)}\r\n0\r\n\r\n${answerOf(stray)}`),
  kind("no last chunk", (own) => `${CHUNKS}\r\n${inChunk(bodyOf(own))}`),
  kind("no line after the last chunk", (own, stray) => `${CHUNKS}\r\n${inChunk(bodyOf(own))}0\r\n${answerOf(stray)}`),
  kind("two last chunks", (own, stray) => `${CHUNKS}\r\n${chunked(bodyOf(own))}0\r\n\r\n${answerOf(stray)}`),
  kind("a line too many", (own, stray) => `${CHUNKS}\r\n${chunked(bodyOf(own))}\r\n${answerOf(stray)}`),
  ...["content-length: 5", "transfer-encoding: chunked", OK.trim(), "x", ": y", "a: b\nc: d"].map((line) =>
    kind(`the trailer ${JSON.stringify(line)}`, (own, stray) => {
      return `${CHUNKS}\r\n${inChunk(bodyOf(own))}0\r\n${line}\r\n\r\n${answerOf(stray)}`
    }),
  ),
  kind("chunks, and a second answer later", (own, stray) => [
    [0, `${CHUNKS}\r\n${chunked(bodyOf(own))}`],
    [120, answerOf(stray)],
  ]),
]

const heads: readonly HostileAnswer[] = [
  ...[
    "http/1.1 200 OK",
    "HTTP/2 200 OK",
    "HTTP/1.1 999 X",
    "HTTP/1.1 99 X",
    "HTTP/1.1  200 OK",
    "HTTP/1.1 200OK",
    "ICY 200 OK",
    "",
  ].map((line) =>
    headed(`the first line ${JSON.stringify(line)}`, (length) => `${line}\r\ncontent-length: ${length}\r\n`),
  ),
  kind("a blank line before it", (own, stray) => `\r\n${answerOf(own)}${answerOf(stray)}`),
  kind("lines that end in LF", (own, stray) => answerOf(own).replaceAll("\r\n", "\n") + answerOf(stray)),
  headed("a CR within a header", (length) => `${OK}a: b\rc\r\ncontent-length: ${length}\r\n`),
  headed("NUL in a header", (length) => `${OK}a: \0\r\ncontent-length: ${length}\r\n`),
  headed("a header without a name", (length) => `${OK}: x\r\ncontent-length: ${length}\r\n`),
  headed("a header without a colon", (length) => `${OK}hello\r\ncontent-length: ${length}\r\n`),
  headed("headers without end", (length) => `${OK}${"a: b\r\n".repeat(20_000)}content-length: ${length}\r\n`),
  kind("a redirect", (own, stray) => [
    [0, answerOf(own, { status: "307 X", more: "location: http://127.0.0.1:1/\r\n" })],
    [50, answerOf(stray)],
  ]),
  kind("`connection: close` on a connection that stays", (own, stray) => [
    [0, answerOf(own, { more: "connection: close\r\n" })],
    [50, answerOf(stray)],
  ]),
  kind("an upgrade", (own, stray) => `HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n${answerOf(own)}${answerOf(stray)}`),
]

const EMPTY = ["204 No Content", "304 Not Modified", "205 Reset Content"]
const bodies: readonly HostileAnswer[] = [
  ...EMPTY.flatMap((status) => [
    kind(`${status} and a body`, (own) => `HTTP/1.1 ${status}\r\n\r\n${bodyOf(own)}`),
    kind(`${status}, and an answer later`, (_, stray) => [
      [0, `HTTP/1.1 ${status}\r\n\r\n`],
      [90, answerOf(stray)],
      END,
    ]),
    kind(`${status} with a length, and its body later`, (_, stray) => [
      [0, `HTTP/1.1 ${status}\r\ncontent-length: ${answerOf(stray).length}\r\n\r\n`],
      [90, answerOf(stray)],
    ]),
    kind(`${status} with chunks`, (own, stray) => {
      return `HTTP/1.1 ${status}\r\ntransfer-encoding: chunked\r\n\r\n${chunked(bodyOf(own))}${answerOf(stray)}`
    }),
  ]),
  ...["200 OK", "429 Too Many", "500 X"].map((status) =>
    kind(`${status} of length 0, and an answer later`, (_, stray) => [
      [0, `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`],
      [90, answerOf(stray)],
    ]),
  ),
  kind("an answer, and the connection ends", (own) => [
    [0, answerOf(own)],
    [0, "fin"],
  ]),
  kind("an answer, and the connection breaks", (own) => [
    [0, answerOf(own)],
    [0, "reset"],
  ]),
  kind("half an answer", (own) => [
    [0, answerOf(own).slice(0, -20)],
    [30, "reset"],
  ]),
]

const interim: readonly HostileAnswer[] = [
  ...["100 Continue", "102 Processing", "103 Hints", "199 X"].map((status) =>
    kind(`${status} with a length`, (own, stray) => {
      return `HTTP/1.1 ${status}\r\ncontent-length: 5\r\n\r\n${answerOf(own)}${answerOf(stray)}`
    }),
  ),
  kind(
    "many interim answers",
    (own, stray) => `${"HTTP/1.1 102 X\r\n\r\n".repeat(1000)}${answerOf(own)}${answerOf(stray)}`,
  ),
  kind("an interim answer after the answer", (own, stray) => [
    [0, answerOf(own)],
    [60, `HTTP/1.1 100 Continue\r\n\r\n${answerOf(stray)}`],
  ]),
]

const late: readonly HostileAnswer[] = [
  kind("two answers at once", (own, stray) => answerOf(own) + answerOf(stray)),
  kind("an error and an answer at once", (own, stray) => answerOf(own, { status: "500 X" }) + answerOf(stray)),
  ...LATER.flatMap((ms) => [
    kind(`a second answer ${ms} ms later`, (own, stray) => [
      [0, answerOf(own)],
      [ms, answerOf(stray)],
    ]),
    kind(`an answer ${ms} ms after an error`, (own, stray) => [
      [0, answerOf(own, { status: "400 X" })],
      [ms, answerOf(stray)],
    ]),
  ]),
  ...["\r\n", "\0", " ", "x", "HTTP/1.1 ", "0\r\n\r\n"].map((bytes) =>
    kind(`${JSON.stringify(bytes)} after the answer, and the rest later`, (own, stray) => [
      [0, answerOf(own)],
      [50, bytes],
      [200, answerOf(stray)],
    ]),
  ),
  kind("a second answer in two halves", (own, stray) => [
    [0, answerOf(own)],
    [30, answerOf(stray).slice(0, 30)],
    [400, answerOf(stray).slice(30)],
  ]),
  kind("three answers", (own, stray) => [
    [0, answerOf(own)],
    [20, answerOf(stray)],
    [300, answerOf(stray)],
  ]),
]

/** A packed answer, and a second one later. */
function packedKind(what: string, encoding: string, pack: (body: string) => Buffer = gzipSync): HostileAnswer {
  return {
    what,
    steps(own, stray) {
      const body = pack(bodyOf(own))
      const head = `${OK}${TYPE}content-encoding: ${encoding}\r\ncontent-length: ${body.length}\r\n\r\n`
      return [
        [0, Buffer.concat([Buffer.from(head), body])],
        [100, answerOf(stray)],
      ]
    },
  }
}

const packed: readonly HostileAnswer[] = [
  ...["gzip", "br", "deflate", "gzip, gzip", "x"].map((name) => packedKind(`the content encoding ${name}`, name)),
  packedKind("a bomb", "gzip", () => gzipSync(Buffer.alloc(100_000_000))),
  packedKind("half of what was packed", "gzip", (body) => gzipSync(body).subarray(0, 40)),
  packedKind("more behind what was packed", "gzip", (body) => Buffer.concat([gzipSync(body), Buffer.from("more")])),
  packedKind("packed without a checksum", "gzip", deflateRawSync),
]

export const HOSTILE_ANSWERS: readonly HostileAnswer[] = [
  ...lengths,
  ...encodings,
  ...chunks,
  ...heads,
  ...bodies,
  ...interim,
  ...late,
  ...packed,
]
