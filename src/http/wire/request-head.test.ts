import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type ClientRequestHead, HeadFault, parseHead } from "./request-head.ts"

function parsed(...lines: string[]): ClientRequestHead {
  const head = parseHead(lines.join("\r\n"))
  if (head instanceof HeadFault) throw new Error(`refused with ${head.status}`)
  return head
}

function status(...lines: string[]): number | undefined {
  const head = parseHead(lines.join("\r\n"))
  return head instanceof HeadFault ? head.status : undefined
}

const GET = "GET /v1/models HTTP/1.1"
const HOST = "Host: g"

describe("a request head", () => {
  test("a request head is split into its parts", () => {
    const head = parsed(
      "POST /v1/a?b=c&d HTTP/1.1",
      HOST,
      "X-Odd: \t a b \t",
      "content-length: 12",
      "X-ODD:again",
      "X-Empty:",
    )
    expect(head).toMatchObject({
      method: "POST",
      target: "/v1/a?b=c&d",
      version: "1.1",
      bodyLength: 12,
      keepsAlive: true,
    })
    const { headers } = head
    expect(headers.get("x-odd")).toBe("a b, again")
    expect([headers.get("x-empty"), headers.get("none")]).toEqual(["", null])
    expect([headers.has("host"), headers.has("none")]).toEqual([true, false])
  })

  test.each([
    ["http://other/v1/models?a", "/v1/models?a"],
    ["HTTPS://other:8/", "/"],
    ["http://other", "/"],
    ["http://other?a", "/?a"],
    ["/v1/../admin", "/v1/../admin"],
    ["//double", "//double"],
  ])("a request head keeps the path of %s as sent", (target, path) => {
    expect(parsed(`GET ${target} HTTP/1.1`, HOST).target).toBe(path)
  })

  test("a request head keeps every byte of a value except surrounding blanks", () => {
    expect(parsed(GET, HOST, "X: \u00a0\u00fc\u0085").headers.get("x")).toBe("\u00a0\u00fc\u0085")
  })

  test.each<[boolean, "1.0" | "1.1", string[]]>([
    [true, "1.1", []],
    [true, "1.1", ["Connection: keep-alive"]],
    [false, "1.1", ["Connection: Close"]],
    [false, "1.1", ["Connection: TE, close"]],
    [false, "1.1", ["Connection: TE", "Connection: close"]],
    [false, "1.0", []],
    [true, "1.0", ["Connection: Keep-Alive"]],
    [false, "1.0", ["Connection: keep-alive, close"]],
  ])("a request head keeps the connection (%p) over HTTP/%s with %j", (keepsAlive, version, lines) => {
    expect(parsed(`GET / HTTP/${version}`, HOST, ...lines).keepsAlive).toBe(keepsAlive)
  })

  test("a request head states the length of its body", () => {
    expect(parsed(GET, HOST).bodyLength).toBe(0)
    expect(parsed(GET, HOST, "Content-Length: 007").bodyLength).toBe(7)
    expect(parsed(GET, HOST, "Transfer-Encoding: Chunked").bodyLength).toBe("chunked")
  })
})

describe("a malformed request head", () => {
  test.each<[number, string, string[]]>([
    [400, "without a version", ["GET /"]],
    [400, "without a path", ["GET HTTP/1.1", HOST]],
    [400, "with two spaces", ["GET  / HTTP/1.1", HOST]],
    [400, "with a relative path", ["GET v1 HTTP/1.1", HOST]],
    [400, "with a fragment", ["GET /a#b HTTP/1.1", HOST]],
    [400, "with a path beyond ASCII", ["GET /\u00fc HTTP/1.1", HOST]],
    [400, "of no method", [" / HTTP/1.1", HOST]],
    [405, "of an unknown method", ["FROB / HTTP/1.1", HOST]],
    [405, "of CONNECT", ["CONNECT / HTTP/1.1", HOST]],
    [405, "in small letters", ["get / HTTP/1.1", HOST]],
    [505, "of another version", ["GET / HTTP/2.0", HOST]],
    [400, "without a host", [GET, "X: a"]],
    [400, "without any field", [GET]],
    [400, "with a field without a colon", [GET, HOST, "X"]],
    [400, "with an empty name", [GET, HOST, ": a"]],
    [400, "with a blank after a name", [GET, HOST, "X : a"]],
    [400, "with a folded field", [GET, HOST, "X: a", " b"]],
    [400, "with a control character", [GET, HOST, "X: a\u0001"]],
    [400, "with a bare carriage return", [GET, HOST, "X: a\rY: b"]],
    [400, "with a bare line feed", [GET, HOST, "X: a\nY: b"]],
    [400, "with a malformed length", [GET, HOST, "Content-Length: 1a"]],
    [400, "with an empty length", [GET, HOST, "Content-Length:"]],
    [400, "with two lengths", [GET, HOST, "Content-Length: 1", "Content-Length: 1"]],
    [400, "with a length and chunks", [GET, HOST, "Content-Length: 1", "Transfer-Encoding: chunked"]],
    [400, "with another encoding", [GET, HOST, "Transfer-Encoding: gzip, chunked"]],
    [400, "with chunks over HTTP/1.0", ["GET / HTTP/1.0", HOST, "Transfer-Encoding: chunked"]],
    [400, "with too many fields", [GET, HOST, ...Array.from({ length: 200 }, (_, at) => `X-${at}: a`)]],
  ])("a malformed request head is rejected with %i: %s", (code, _, lines) => {
    expect(status(...lines)).toBe(code)
  })
})

test("any text is parsed or rejected, and no control character gets into a field", () => {
  const line = fc.oneof(
    fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
    fc.constantFrom(GET, HOST, "Content-Length: 5", "Transfer-Encoding: chunked", "X: a", ""),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
      const head = parseHead(lines.join("\r\n"))
      if (head instanceof HeadFault) return
      expect(head.target.startsWith("/")).toBe(true)
      expect(head.target).toMatch(/^[!-~]+$/)
      expect(head.bodyLength === "chunked" || Number.isSafeInteger(head.bodyLength)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
