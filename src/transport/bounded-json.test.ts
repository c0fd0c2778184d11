import { afterAll, beforeAll, expect, test } from "bun:test"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { fetchBoundedJson } from "./bounded-json.ts"

let server: Server
let origin: string
let received = ""
beforeAll(async () => {
  server = createServer((request, response) => {
    request.on("data", (bytes) => {
      received += bytes
    })
    request.on("end", () => {
      if (request.url === "/soft") response.end('{"a":1}')
      else if (request.url === "/none") response.writeHead(404).end("secret words")
      else if (request.url === "/refused") response.writeHead(401).end()
      else if (request.url === "/moved") response.writeHead(302, { location: "/soft" }).end()
      else if (request.url === "/html") response.end("<html>secret words")
      else if (request.url === "/deep") response.end("[".repeat(500_000))
      else if (request.url === "/silent") response.write("{")
      else if (request.url === "/announced") response.writeHead(200, { "content-length": "50000000" }).write("{")
      else if (request.url === "/endless") {
        const more = () => response.write(`"${"x".repeat(65_536)}"`, () => !response.destroyed && more())
        more()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const ask = (path: string, body?: unknown) =>
  fetchBoundedJson({
    url: origin + path,
    headers: new Headers(),
    maxBytes: 1024 * 1024,
    signal: AbortSignal.timeout(path === "/silent" ? 50 : 10_000),
    ...(body !== undefined && { body }),
  })

test("a JSON document is returned parsed, and a body is posted", async () => {
  expect(await ask("/soft")).toEqual({ a: 1 })
  expect(await ask("/soft", { model: "x" })).toEqual({ a: 1 })
  expect(received).toBe('{"model":"x"}')
})

test.each([
  ["/none", "it answers 404"],
  ["/refused", "refused (status 401)"],
  ["/moved", "it answers 302"],
  ["/html", "its response is not JSON"],
  ["/deep", "its response is not JSON"],
  ["/silent", "no complete response in time"],
  ["/announced", "its response is larger than 1 MiB"],
  ["/endless", "its response is larger than 1 MiB"],
])("%s is rejected: %s", async (path, message) => {
  await expect(ask(path)).rejects.toThrow(message)
})

test("an unreachable host gives no answer", async () => {
  const request = { headers: new Headers(), maxBytes: 10, signal: AbortSignal.timeout(10_000) }
  await expect(fetchBoundedJson({ url: "http://127.0.0.1:1/", ...request })).rejects.toThrow("no response")
})
