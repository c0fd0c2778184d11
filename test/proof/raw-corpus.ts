// Requests that no honest client sends: smuggling, duplicate headers, misleading paths.

export interface RawCase {
  readonly what: string
  readonly bytes: string
}

interface CorpusAddresses {
  readonly key: string
  /** The administration's address, as host and port. */
  readonly admin: string
  readonly adminKey: string
}

const BODY = '{"model":"test/model","messages":[{"role":"user","content":"hi"}]}'
const LENGTH = `Content-Length: ${BODY.length}`
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
/** The request that a smuggler hides after another. */
const HIDDEN = "GET /v1/models HTTP/1.1\r\nHost: gateway\r\n\r\n"

export function rawCorpus(places: CorpusAddresses): RawCase[] {
  return [...smuggled(places), ...brokenHeads(places), ...doubled(places), ...otherPaths(places)]
}

function post({ key }: CorpusAddresses, lines: readonly string[], rest: string): string {
  const head = ["POST /v1/chat/completions HTTP/1.1", "Host: gateway", `Authorization: Bearer ${key}`]
  return [...head, "Content-Type: application/json", ...lines, "", rest].join("\r\n")
}

/** Two statements of the body's length, or one that is invalid. */
function smuggled(places: CorpusAddresses): RawCase[] {
  const lengths: [string, string[]][] = [
    ["a length and chunks", [LENGTH, "Transfer-Encoding: chunked"]],
    ["chunks and a length", ["Transfer-Encoding: chunked", LENGTH]],
    ["a length of 0 and chunks", ["Content-Length: 0", "Transfer-Encoding: chunked"]],
    ["two lengths", ["Content-Length: 5", LENGTH]],
    ["two lengths in one line", [`Content-Length: 5, ${BODY.length}`]],
    ["a negative length", ["Content-Length: -1"]],
    ["a length with a plus", [`Content-Length: +${BODY.length}`]],
    ["a length in hexadecimal", ["Content-Length: 0x42"]],
    ["a length with a fraction", ["Content-Length: 66.0"]],
    ["a length with an exponent", ["Content-Length: 6e1"]],
    ["a length that is a word", ["Content-Length: all"]],
    ["a length beyond all bounds", ["Content-Length: 99999999999999999999999"]],
    ["a length with a space in it", ["Content-Length: 6 6"]],
    ["an empty length", ["Content-Length:"]],
    ["a name with a space behind it", [`Content-Length : ${BODY.length}`]],
    ["a name with a tab behind it", [`Content-Length\t: ${BODY.length}`]],
    ["a length on a folded line", ["Content-Length:", ` ${BODY.length}`]],
    ["a header on a folded line", [LENGTH, "X-Odd: a", "  b"]],
    ["a length in full-width digits", ["Content-Length: \u00b2\u00b3"]],
    ["a length in quotes", [`Content-Length: "${BODY.length}"`]],
    ["three lengths", [LENGTH, LENGTH, "Content-Length: 1"]],
    ["a length and another behind an empty one", ["Content-Length:", LENGTH]],
    ["an encoding with a space behind its name", ["Transfer-Encoding : chunked", LENGTH]],
    ["an encoding twice", ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"]],
    ["an encoding on a folded line", ["Transfer-Encoding:", " chunked", LENGTH]],
    ["an encoding behind a control character", ["\u000bTransfer-Encoding: chunked", LENGTH]],
  ]
  const encodings = [
    "xchunked",
    "chunked, identity",
    "identity, chunked, identity",
    "gzip",
    "chunked;q=1",
    "chunked\u0000",
    "chunked, chunked",
    '"chunked"',
    "chunke\u0064\u000b",
    "identity",
    "deflate, chunked, gzip",
    "chunked,",
    ",chunked",
    "x, chunked",
    "chunked x",
  ]
  const chunks: [string, string][] = [
    ["a size in 0x", `0x${CHUNKED}`],
    ["a negative size", `-${CHUNKED}`],
    ["a size with a plus", `+${CHUNKED}`],
    ["a size with a space before", ` ${CHUNKED}`],
    ["a size that is a word", `zz\r\n${BODY}\r\n0\r\n\r\n`],
    ["an empty size", `\r\n${BODY}\r\n0\r\n\r\n`],
    ["a size beyond all bounds", `fffffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`],
    ["a size with an underscore", `4_2\r\n${BODY}\r\n0\r\n\r\n`],
    ["no line end behind the data", `${BODY.length.toString(16)}\r\n${BODY}0\r\n\r\n`],
    ["data longer than its size", `5\r\n${BODY}\r\n0\r\n\r\n`],
    ["a size with NUL", `42\u0000\r\n${BODY}\r\n0\r\n\r\n`],
    ["a request in the place of trailers", CHUNKED.replace(/\r\n$/, HIDDEN)],
    ["a trailer with a space behind its name", CHUNKED.replace(/\r\n$/, "X-Odd : a\r\n\r\n")],
    ["a trailer on a folded line", CHUNKED.replace(/\r\n$/, "X-Odd: a\r\n b\r\n\r\n")],
    ["trailers of 100 KB", CHUNKED.replace(/\r\n$/, `X-Odd: ${"a".repeat(100_000)}\r\n\r\n`)],
    ["lines that end without a carriage return", CHUNKED.replaceAll("\r\n", "\n")],
    ["an extension of 100 KB", `42;${"a".repeat(100_000)}\r\n${BODY}\r\n0\r\n\r\n`],
  ]
  return [
    ...lengths.map(([what, lines]) => ({ what: `lengths: ${what}`, bytes: post(places, lines, BODY + HIDDEN) })),
    ...encodings.map((word) => ({
      what: `transfer encoding: ${JSON.stringify(word)}`,
      bytes: post(places, [`Transfer-Encoding: ${word}`, LENGTH], CHUNKED + HIDDEN),
    })),
    ...chunks.map(([what, body]) => ({
      what: `chunks: ${what}`,
      bytes: post(places, ["Transfer-Encoding: chunked"], body + HIDDEN),
    })),
  ]
}

/** Heads that are no HTTP. */
function brokenHeads(places: CorpusAddresses): RawCase[] {
  const lines: [string, string][] = [
    ["no version", "GET /v1/models"],
    ["an unknown version", "GET /v1/models HTTP/3.7"],
    ["a version of HTTP/2", "GET /v1/models HTTP/2.0"],
    ["a version in small letters", "GET /v1/models http/1.1"],
    ["a word behind the version", "GET /v1/models HTTP/1.1 x"],
    ["a space in the path", "GET /v1/ models HTTP/1.1"],
    ["two spaces before the path", "GET  /v1/models HTTP/1.1"],
    ["a tab between", "GET\t/v1/models\tHTTP/1.1"],
    ["no path", "GET HTTP/1.1"],
    ["no method", "/v1/models HTTP/1.1"],
    ["a method in small letters", "get /v1/models HTTP/1.1"],
    ["an unknown method", "FROB /v1/models HTTP/1.1"],
    ["a method with a NUL", "GE\u0000T /v1/models HTTP/1.1"],
    ["NUL in the path", "GET /v1/mod\u0000els HTTP/1.1"],
    ["a control character in the path", "GET /v1/mod\u0001els HTTP/1.1"],
    ["CONNECT", "CONNECT gateway:443 HTTP/1.1"],
    ["TRACE", "TRACE /v1/models HTTP/1.1"],
    ["a path without a slash", "GET v1/models HTTP/1.1"],
    ["nothing but noise", "\u0001\u0002\u0003\u0004"],
    ["TLS on a plain HTTP port", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003"],
    ["a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n"],
  ]
  const headers: [string, string][] = [
    ["no host", "X-Odd: a"],
    ["a name with NUL", "Host: gateway\r\nX-O\u0000dd: a"],
    ["a value with NUL", "Host: gateway\r\nX-Odd: a\u0000b"],
    ["a value with a bare CR", "Host: gateway\r\nX-Odd: a\rX-Other: b"],
    ["an empty name", "Host: gateway\r\n: a"],
    ["a line without a colon", "Host: gateway\r\nX-Odd"],
    ["a name with a space", "Host: gateway\r\nX Odd: a"],
    ["a name with a bracket", "Host: gateway\r\nX(Odd): a"],
    ["a first line that is folded", " Host: gateway"],
    ["a value of 100 KB", `Host: gateway\r\nX-Odd: ${"a".repeat(100_000)}`],
    ["2,000 headers", `Host: gateway\r\n${Array.from({ length: 2000 }, (_, at) => `X-${at}: a`).join("\r\n")}`],
  ]
  return [
    ...lines.map(([what, line]) => ({
      what: `first line: ${what}`,
      bytes: `${line}\r\nHost: gateway\r\nAuthorization: Bearer ${places.key}\r\n\r\n`,
    })),
    ...headers.map(([what, lines]) => ({
      what: `headers: ${what}`,
      bytes: `GET /nowhere HTTP/1.1\r\n${lines}\r\nConnection: close\r\n\r\n`,
    })),
    { what: "first line: a path of 100 KB", bytes: `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: gateway\r\n\r\n` },
  ]
}

/** Headers of which there may be one. */
function doubled({ key }: CorpusAddresses): RawCase[] {
  const once = { Host: "gateway", Authorization: `Bearer ${key}`, "Content-Type": "application/json" }
  const twice: [string, string][] = [
    ["Authorization", `Bearer ${key}`],
    ["Authorization", "Bearer another"],
    ["authorization", "Basic eDp5"],
    ["Authorization", ""],
    ["Host", "another"],
    ["host", "gateway"],
    ["Host", ""],
    ["Content-Type", "text/plain"],
    ["Content-Encoding", "gzip"],
    ["Content-Encoding", "identity, gzip"],
  ]
  const chat = twice.map(([name, value]) => ({
    what: `twice: ${name}: ${JSON.stringify(value)}`,
    bytes: withHeaders("POST /v1/chat/completions", [...Object.entries(once), [name, value]]),
  }))
  const keys: [string, string][] = [
    ["POST /anthropic/v1/messages", "x-api-key"],
    ["POST /gemini/v1beta/models/test/model:generateContent", "x-goog-api-key"],
    ["POST /genapi/v1beta/models/test/model:generateContent", "x-gen-api-key"],
  ]
  const others = keys.flatMap(([line, name]) => {
    const base: [string, string][] = [
      ["Host", "gateway"],
      ["Content-Type", "application/json"],
      ["anthropic-version", "2023-06-01"],
    ]
    return [
      { what: `twice: ${name}`, bytes: withHeaders(line, [...base, [name, key], [name, key]]) },
      { what: `two keys: ${name}`, bytes: withHeaders(line, [...base, [name, key], [name, "another"]]) },
      {
        what: `two keys: ${name} and a bearer`,
        bytes: withHeaders(line, [...base, [name, "another"], ["Authorization", `Bearer ${key}`]]),
      },
      {
        what: `two keys: ${name} and a parameter`,
        bytes: withHeaders(`${line}?key=another&key=more`, [...base, [name, key]]),
      },
    ]
  })
  return [...chat, ...others.filter(({ what }) => !what.includes("x-api-key and a parameter"))]
}

function withHeaders(line: string, headers: readonly (readonly [string, string])[]): string {
  const all = [...headers, ["Content-Length", String(BODY.length)], ["Connection", "close"]]
  return `${line} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${BODY}`
}

/** Ways to write the administration's paths so that a careless eye lets them pass. */
function otherPaths({ admin, adminKey }: CorpusAddresses): RawCase[] {
  const paths = [
    "/admin/v1/keys",
    "/admin/v1/status",
    "/metrics",
    "/admin/v1/openapi.json",
    "/v1/../admin/v1/keys",
    "/v1/%2e%2e/admin/v1/keys",
    "/v1/%2E%2E/admin/v1/keys",
    "/v1/.%2e/admin/v1/keys",
    "/v1/..%2fadmin/v1/keys",
    "/v1/..%2Fadmin%2Fv1%2Fkeys",
    "/v1/..%5cadmin/v1/keys",
    "/v1/..\\admin\\v1\\keys",
    "\\admin\\v1\\keys",
    "/v1/..;/admin/v1/keys",
    "/v1;/admin/v1/keys",
    "/v1/models/../../admin/v1/keys",
    "/v1/models/..%2f..%2fadmin/v1/keys",
    "/v1/models/%2e%2e/%2e%2e/admin/v1/keys",
    "//admin/v1/keys",
    "///admin/v1/keys",
    "/./admin/v1/keys",
    "/%61dmin/v1/keys",
    "/ADMIN/v1/keys",
    "/admin/v1/keys/",
    "/admin/v1/keys?x=/v1/models",
    "/admin/v1/keys%00",
    "/admin/v1/keys%20",
    "/admin/v1/keys#/v1/models",
    "/admin%2fv1%2fkeys",
    "/admin/v1/%6b%65%79%73",
    "/healthz/../admin/v1/keys",
    "/healthz%2f..%2fadmin/v1/keys",
    "/anthropic/../admin/v1/keys",
    "/gemini/v1beta/models/..%2f..%2f..%2fadmin/v1/keys",
    `http://${admin}/admin/v1/keys`,
    `http://gateway@${admin}/admin/v1/keys`,
    `https://${admin}/admin/v1/keys`,
    `//${admin}/admin/v1/keys`,
    "http://gateway/admin/v1/keys",
    "file:///etc/passwd",
    "/v1/models/../../../../etc/passwd",
    "/v1/chat/completions/",
    "/v1//chat//completions",
    "/V1/chat/completions",
    "/v1/chat/completions/../../../admin/v1/keys",
  ]
  return paths.map((path) => ({
    what: `path: ${path}`,
    bytes: `GET ${path} HTTP/1.1\r\nHost: ${admin}\r\nAuthorization: Bearer ${adminKey}\r\nConnection: close\r\n\r\n`,
  }))
}
