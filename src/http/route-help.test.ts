import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { protocols } from "../protocols.ts"
import { isForeignPath, RouteHelp } from "./route-help.ts"

const paths = protocols.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.paths))

describe("advice", () => {
  test("advice for any path is one line that names a route", () => {
    const help = new RouteHelp(paths)
    fc.assert(
      fc.property(fc.webPath(), (path) => {
        expect(help.advise(path)).toMatch(/^[^\n]*(GET|POST|docs|port|base64|one by one|reranking|generateContent)/)
      }),
    )
  })

  test("advice compares paths at most a hundred times a second, and still finds wrong base addresses", () => {
    let now = 5000
    const help = new RouteHelp(paths, () => now)
    const advised = Array.from({ length: 101 }, () => help.advise("/v1/chat/completion").includes("Did you mean"))
    expect(advised.filter((isAdvised) => isAdvised)).toHaveLength(100)
    expect(help.advise("/v1/v1/chat/completions")).toContain("Did you mean /v1/chat/completions?")
    now += 1000
    expect(help.advise("/v1/chat/completion")).toContain("Did you mean /v1/chat/completions?")
  })
})

test("no route of a protocol is taken for another product's", () => {
  const open = paths.map((path) => path.replace("{rest}", "google/gemini-2.5-flash"))
  for (const path of open) expect([path, isForeignPath(path)]).toEqual([path, false])
  expect(isForeignPath("/gemini/v1beta/models/google/gemini-2.5-flash:generateContent")).toBe(false)
  expect(isForeignPath("/v1/receipts/0199")).toBe(false)
  expect(isForeignPath("/v1/responses/resp_1/input_items")).toBe(false)
})
