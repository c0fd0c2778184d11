// Compares the table of response headers with the headers that the source code sets.
import { describe, expect, test } from "bun:test"
import { RESPONSE_HEADERS } from "../../src/canonical/response-headers.ts"
import { ResponseHeaders } from "../../src/exchange/client-response.ts"
import { type SourceFile, sourceFiles, withoutComments } from "./sources.ts"

/** Code that builds responses to clients. */
const ANSWERS = /^(exchange|http|admin)\/(?!openapi\/|docs\/)/
const SET_BY_NAME = /\bheaders\.(?:set|add|append)\(\s*"([^"]+)"/g
/** A list of headers, or an object of them, that is set as a whole. */
const LITERAL = /(?<!\b(?:get|has)\()"([a-z][a-z-]*)"/g
const WIRE_LINE = /(?:[`"}]|\\r\\n)([a-z][a-z-]*): (?=[^\n]*\\r\\n)/g
const ID_HEADER = /\bidHeader: "([^"]+)"/g

function namesIn({ path, text }: SourceFile, pattern: RegExp): string[] {
  return [...withoutComments(text).matchAll(pattern)].map(([, name = ""]) => `${path} ${name}`)
}

function headersSet(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => [
    ...(ANSWERS.test(file.path) ? namesIn(file, SET_BY_NAME) : []),
    ...(file.path.startsWith("http/wire/") ? namesIn(file, WIRE_LINE) : []),
    ...namesIn(file, ID_HEADER),
  ])
}

function unlistedHeaders(files: readonly SourceFile[]): string[] {
  return headersSet(files).filter((found) => !Object.hasOwn(RESPONSE_HEADERS, found.split(" ")[1] ?? ""))
}

function unusedHeaders(files: readonly SourceFile[]): string[] {
  const literals = files.flatMap((file) => (ANSWERS.test(file.path) ? namesIn(file, LITERAL) : []))
  const used = new Set([...headersSet(files), ...literals].map((found) => found.split(" ")[1]))
  return Object.keys(RESPONSE_HEADERS).filter((name) => !used.has(name))
}

describe("response headers", () => {
  const files = sourceFiles()

  test("every header that the code sets is in the table", () => {
    expect(headersSet(files).length).toBeGreaterThan(25)
    expect(unlistedHeaders(files)).toEqual([])
  })

  test("every header in the table is set by the code", () => {
    expect(unusedHeaders(files)).toEqual([])
  })

  test("a header that is not in the table does not compile, however it is set", () => {
    const headers = new ResponseHeaders()
    // @ts-expect-error: not in the table
    headers.set("x-unlisted", "1")
    // @ts-expect-error: not in the table
    headers.setAll({ "x-unlisted": "1" })
    // @ts-expect-error: not in the table
    headers.append("x-unlisted", "1")
  })

  test("an unlisted header is found wherever it is set", () => {
    const found = unlistedHeaders([
      { path: "exchange/build-response.ts", text: 'headers.set("x-first", id)' },
      { path: "http/wire/response-head.ts", text: `return \`x-second: \${date}\\r\\nx-third: 1\\r\\n\`` },
      { path: "protocols/chat/odd.ts", text: 'idHeader: "x-fourth",' },
    ])
    expect(found.map((each) => each.split(" ")[1])).toEqual(["x-first", "x-second", "x-third", "x-fourth"])
  })

  test("a header that is only read does not count as set", () => {
    const text = 'request.headers.get("x-request-id")'
    expect(unusedHeaders([{ path: "http/read.ts", text }])).toContain("x-request-id")
  })
})
