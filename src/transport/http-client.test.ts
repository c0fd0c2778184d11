// The client against scripted hosts on real sockets.
import { afterEach, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { Abort } from "./abort.ts"
import { dialQuickly } from "./bun-wire.ts"
import { httpSend, httpSender, toSendError } from "./http-client.ts"
import { okResponseText, type ReceivedRequest, readText, TestHost, upstreamRequest } from "./http-host.fixture.ts"
import { readAll } from "./read-all.ts"
import { ResendAllowance } from "./resend-allowance.ts"
import { TransportError } from "./transport-error.ts"
import { type DialWire, dialPatiently } from "./wire.ts"

const hosts: TestHost[] = []
afterEach(() => {
  for (const host of hosts.splice(0)) host.stop()
})

async function start(answer: Parameters<typeof TestHost.start>[0]): Promise<TestHost> {
  const host = await TestHost.start(answer)
  hosts.push(host)
  return host
}

const CHUNKS_AND_LENGTH =
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n1\r\nx\r\n0\r\n\r\n"

/** `dial` with the latency of a distant host. */
function dialSlowly(dial: DialWire, ms: number): DialWire {
  return (origin, listener) =>
    dial(origin, {
      opened: () => void setTimeout(() => listener.opened(), ms),
      received: (bytes) => listener.received(bytes),
      ended: () => listener.ended(),
      failed: (cause) => listener.failed(cause),
    })
}

async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await Bun.sleep(5)
}

async function faultOfCall(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "no fault",
    (thrown) => (thrown instanceof TransportError ? thrown.fault : thrown),
  )
}

describe.each([
  ["patient", dialPatiently],
  ["quick", dialQuickly],
])("with the %s dialler", (_, dial) => {
  const httpSend = httpSender({ dial })

  describe("a call", () => {
    test("a call uses the given method, and a GET has neither body nor length", async () => {
      const host = await start((socket) => socket.write(okResponseText("hello")))
      await readText(await httpSend(upstreamRequest(host.url, { method: "GET", body: "" })))
      await readText(await httpSend(upstreamRequest(host.url, { method: "PUT", body: "" })))
      const origin = new URL(host.url).host
      expect(host.received.map(({ head }) => head)).toEqual([
        `GET /v1/x HTTP/1.1\r\nhost: ${origin}\r\nx-a: b`,
        `PUT /v1/x HTTP/1.1\r\nhost: ${origin}\r\nx-a: b\r\ncontent-length: 0`,
      ])
    })

    test("a call sends the given headers and nothing else", async () => {
      const host = await start((socket) => socket.write(okResponseText("hello")))
      const answer = await httpSend(upstreamRequest(`${host.url}?q=1`, { body: '{"a":1}' }))
      expect(answer).toMatchObject({ status: 200, ok: true })
      expect(await readText(answer)).toBe("hello")
      const origin = new URL(host.url).host
      expect(host.received).toEqual([
        {
          head: `POST /v1/x?q=1 HTTP/1.1\r\nhost: ${origin}\r\nx-a: b\r\ncontent-length: 7`,
          body: '{"a":1}',
          length: expect.any(Number) as never,
        } as ReceivedRequest,
      ])
    })

    test("a call sends bytes as they are", async () => {
      const host = await start((socket) => socket.write(okResponseText("")))
      const body = new Uint8Array(256).map((_, at) => at)
      await httpSend(upstreamRequest(host.url, { body }))
      expect(Buffer.from(host.received[0]?.body ?? "", "latin1")).toEqual(Buffer.from(body))
    })

    test("a call with a large body arrives whole at a slow host", async () => {
      const host = await start((socket) => socket.write(okResponseText("taken")))
      const body = Buffer.alloc(20_000_000, "abcdefghij")
      const calling = httpSend(upstreamRequest(host.url, { body }))
      while (!host.sockets[0]) await Bun.sleep(1)
      host.sockets[0].pause()
      await Bun.sleep(50)
      host.sockets[0].resume()
      expect(await readText(await calling)).toBe("taken")
      expect(host.received[0]?.body.length).toBe(body.length)
    })

    test("a call encodes characters that are invalid in a path as a browser would", async () => {
      const host = await start((socket) => socket.write(okResponseText("")))
      await httpSend(upstreamRequest(`${host.url}/ä b\r\nx: y#z`))
      expect(host.received[0]?.head.split("\r\n")[0]).toMatch(/^POST \/v1\/x\/%C3%A4%20b[^ ]* HTTP\/1\.1$/)
    })
  })

  describe("a connection", () => {
    test("a connection is reused", async () => {
      const host = await start((socket, index) => socket.write(okResponseText(String(index))))
      for (let index = 0; index < 5; index++)
        expect(await readText(await httpSend(upstreamRequest(host.url)))).toBe(String(index))
      expect(host.sockets).toHaveLength(1)
    })

    test("a connection is reused while the last answer is still read from memory", async () => {
      const host = await start((socket, index) => socket.write(okResponseText(`answer ${index}`)))
      const first = await httpSend(upstreamRequest(host.url))
      await Bun.sleep(5)
      const second = await httpSend(upstreamRequest(host.url))
      expect([await readText(first), await readText(second)]).toEqual(["answer 0", "answer 1"])
      expect(host.sockets).toHaveLength(1)
    })

    test("a connection is not shared by concurrent calls", async () => {
      const host = await start((socket) => setTimeout(() => socket.write(okResponseText("x")), 20))
      await Promise.all(Array.from({ length: 5 }, () => httpSend(upstreamRequest(host.url))))
      expect(host.sockets).toHaveLength(5)
    })

    test.each([
      ["the host announced its close", okResponseText("x", "connection: close\r\n")],
      ["more bytes than were announced", `${okResponseText("x")}y`],
    ])("a connection is not reused after %s", async (_, bytes) => {
      const host = await start((socket) => socket.write(bytes))
      await httpSend(upstreamRequest(host.url))
        .then(readText)
        .catch(() => {})
      await Bun.sleep(10)
      await httpSend(upstreamRequest(host.url))
        .then(readText)
        .catch(() => {})
      expect(host.sockets.length).toBeGreaterThan(1)
    })

    test("a connection that the host closed while idle is replaced, and the request sent once", async () => {
      const host = await start((socket) => socket.write(okResponseText("x")))
      await readText(await httpSend(upstreamRequest(host.url)))
      host.sockets[0]?.end()
      await waitUntil(() => host.sockets[0]?.closed === true)
      expect(await readText(await httpSend(upstreamRequest(host.url)))).toBe("x")
      expect(host.received).toHaveLength(2)
    })

    test("a connection that the host closes as it is reused is replaced once", async () => {
      const host = await start((socket, index) => (index === 1 ? socket.destroy() : socket.write(okResponseText("x"))))
      await readText(await httpSend(upstreamRequest(host.url)))
      expect(await readText(await httpSend(upstreamRequest(host.url)))).toBe("x")
      expect(host.received).toHaveLength(3)
    })

    test("a connection that the host closes within twice the time it took to connect is replaced once", async () => {
      const farSend = httpSender({ dial: dialSlowly(dial, 400) })
      const host = await start((socket, index) => {
        if (index === 1) setTimeout(() => socket.destroy(), 150)
        else socket.write(okResponseText("x"))
      })
      await readText(await farSend(upstreamRequest(host.url)))
      expect(await readText(await farSend(upstreamRequest(host.url)))).toBe("x")
      expect(host.received).toHaveLength(3)
    })

    test("a connection on which the host works for long and dies without a byte is not replaced", async () => {
      const host = await start((socket, index) => {
        if (index === 0) socket.write(okResponseText("x"))
        else setTimeout(() => socket.destroy(), 1500)
      })
      await readText(await httpSend(upstreamRequest(host.url)))
      expect(await faultOfCall(httpSend(upstreamRequest(host.url)))).toBe("reset")
      expect(host.received).toHaveLength(2)
    })

    test("a connection is replaced once for all calls that share a resend allowance", async () => {
      const host = await start((socket, _, { body }) => {
        if (body === "kill") socket.destroy()
        else setTimeout(() => socket.write(okResponseText("x")), 10)
      })
      const warm = Array.from({ length: 3 }, () => httpSend(upstreamRequest(host.url)).then(readText))
      await Promise.all(warm)
      const resends = new ResendAllowance()
      for (let call = 0; call < 3; call++) {
        expect(await faultOfCall(httpSend(upstreamRequest(host.url, { body: "kill", resends })))).toBe("reset")
      }
      expect(host.received.filter(({ body }) => body === "kill")).toHaveLength(4)
    })

    test("a fresh connection that breaks, or one that breaks after the first byte, is not retried", async () => {
      const fresh = await start((socket) => socket.destroy())
      expect(await faultOfCall(httpSend(upstreamRequest(fresh.url)))).toBe("reset")
      expect(fresh.received).toHaveLength(1)
      const begun = await start((socket, index) => {
        if (index === 0) socket.write(okResponseText("x"))
        else socket.write("HTTP/1.1 2", () => socket.destroy())
      })
      await readText(await httpSend(upstreamRequest(begun.url)))
      expect(await faultOfCall(httpSend(upstreamRequest(begun.url)))).toBe("reset")
      expect(begun.received).toHaveLength(2)
    })
  })

  describe("an answer", () => {
    test("an answer that is not HTTP is a broken connection", async () => {
      const host = await start((socket) => socket.write("SSH-2.0-hello\r\n\r\n"))
      expect(await faultOfCall(httpSend(upstreamRequest(host.url)))).toBe("reset")
    })

    test("a truncated answer fails after the bytes that arrived", async () => {
      const host = await start((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"))
      const reader = (await httpSend(upstreamRequest(host.url))).body?.getReader()
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("hello")
      expect(await faultOfCall(reader?.read() ?? Promise.resolve())).toBe("reset")
    })

    test("an answer without length ends with its connection", async () => {
      const host = await start((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nall of it"))
      expect(await readText(await httpSend(upstreamRequest(host.url)))).toBe("all of it")
    })

    test("an answer that was compressed without being requested arrives decompressed", async () => {
      const packed = gzipSync("hello ".repeat(1000))
      const host = await start((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`)
        socket.write(packed)
      })
      expect(await readText(await httpSend(upstreamRequest(host.url)))).toBe("hello ".repeat(1000))
    })

    test("an answer that is not read applies back-pressure to the host", async () => {
      let written = 0
      const host = await start((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n")
        const pour = () => {
          while (written < 200_000_000 && socket.write(Buffer.alloc(65_536))) written += 65_536
        }
        socket.on("drain", pour)
        pour()
      })
      const abort = new Abort()
      const answer = await httpSend(upstreamRequest(host.url, { abort }))
      for (let before = -1; written !== before; await Bun.sleep(200)) before = written
      expect(written).toBeLessThan(20_000_000)
      await answer.body?.getReader().read()
      abort.abort(undefined)
    })

    test("an answer above the size limit is rejected and its connection closed", async () => {
      const host = await start((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n${"x".repeat(500)}`),
      )
      expect(await faultOfCall(httpSend(upstreamRequest(host.url)).then((answer) => readAll(answer, 1000)))).toBe(
        "too-large",
      )
      await waitUntil(() => host.sockets[0]?.closed === true)
    })
  })

  describe("an endless answer", () => {
    const chunk = `ffff\r\n${"x".repeat(0xffff)}\r\n`
    const framings: [string, string, string][] = [
      ["in chunks", "transfer-encoding: chunked\r\n", chunk],
      ["in chunks after a small length", "content-length: 10\r\ntransfer-encoding: chunked\r\n", chunk],
      ["in chunks before a small length", "transfer-encoding: chunked\r\ncontent-length: 10\r\n", chunk],
      ["up to the end of its connection", "", chunk],
      ["of a length it does not keep", "content-length: 99999999999\r\n", chunk],
      ["of one byte a chunk", "transfer-encoding: chunked\r\n", "1\r\nx\r\n".repeat(10_000)],
    ]
    test.each(framings)(
      "an endless body %s is rejected at the bound, in answers and in errors",
      async (_, headers, piece) => {
        for (const status of [200, 400]) {
          let written = 0
          const host = await start((socket) => {
            socket.write(`HTTP/1.1 ${status} X\r\n${headers}\r\n`)
            const pour = () => {
              while (written < 100_000_000 && !socket.destroyed) {
                written += piece.length
                if (!socket.write(piece)) break
              }
            }
            socket.on("drain", pour)
            pour()
          })
          const reading = httpSend(upstreamRequest(host.url)).then((answer) => readAll(answer, 100_000))
          expect(await faultOfCall(reading)).toBe("too-large")
          await waitUntil(() => host.sockets[0]?.closed === true)
          expect(written).toBeLessThan(50_000_000)
        }
      },
    )
  })

  test.each([
    ["204", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["204 with a length", "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n"],
    ["304 with a length", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n"],
    ["304 with chunks", "HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n"],
    ["200 of length 0", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["200 with a length and chunks", CHUNKS_AND_LENGTH],
  ])("a connection is not reused after a %s", async (_, bytes) => {
    const host = await start((socket, index) => socket.write(index === 0 ? bytes : okResponseText("own")))
    await readText(await httpSend(upstreamRequest(host.url)))
    expect(await readText(await httpSend(upstreamRequest(host.url)))).toBe("own")
    expect(host.sockets).toHaveLength(2)
  })

  describe("an aborted call", () => {
    const reason = new Error("enough")

    test.each([
      ["before it begins", 0, () => {}],
      ["before the head", 20, () => {}],
      ["within the head", 20, (socket: Socket) => void socket.write("HTTP/1.1 200")],
    ])("a call aborted %s fails with the reason and frees the connection", async (_, afterMs, answer) => {
      const host = await start(answer)
      const abort = new Abort()
      if (afterMs === 0) abort.abort(reason)
      else setTimeout(() => abort.abort(reason), afterMs)
      const thrown = await httpSend(upstreamRequest(host.url, { abort })).catch((cause) => toSendError(cause, abort))
      expect(thrown).toBe(reason)
      await waitUntil(() => host.sockets.every(({ closed }) => closed))
    })

    test("a call aborted within the body fails with the reason and frees the connection", async () => {
      const host = await start((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nhello"))
      const abort = new Abort()
      const reader = (await httpSend(upstreamRequest(host.url, { abort }))).body?.getReader()
      await reader?.read()
      setTimeout(() => abort.abort(reason), 10)
      expect(await reader?.read().catch((cause) => toSendError(cause, abort))).toBe(reason)
      await waitUntil(() => host.sockets[0]?.closed === true)
    })

    test("a call aborted after its answer was read does not affect the next call on its connection", async () => {
      const host = await start((socket, index) => {
        setTimeout(() => socket.write(okResponseText(`answer ${index}`)), index === 1 ? 50 : 0)
      })
      const abort = new Abort()
      await readText(await httpSend(upstreamRequest(host.url, { abort })))
      const second = httpSend(upstreamRequest(host.url))
      await Bun.sleep(10)
      abort.abort(reason)
      expect(await readText(await second)).toBe("answer 1")
      expect(host.sockets).toHaveLength(1)
    })
  })

  test("a call aborted while it connects leaves the connection to the next call", async () => {
    const host = await start((socket) => socket.write(okResponseText("x")))
    const abort = new Abort()
    const calling = httpSend(upstreamRequest(host.url, { abort }))
    abort.abort(new Error("enough"))
    expect(await calling.catch((cause) => toSendError(cause, abort))).toBe(abort.reason)
    await waitUntil(() => host.sockets.length === 1)
    await Bun.sleep(20)
    await readText(await httpSend(upstreamRequest(host.url)))
    expect(host.sockets).toHaveLength(1)
  })

  describe("a host", () => {
    test("a host without a listener is unreachable", async () => {
      const host = await start(() => {})
      host.stop()
      expect(await faultOfCall(httpSend(upstreamRequest(host.url)))).toBe("connect")
    })

    test("a host without an address cannot be reached", async () => {
      expect(await faultOfCall(httpSend(upstreamRequest("http://nobody.invalid/x")))).toBe("connect")
    })
  })
})

test("a busy host is dialled a second time with the quick dialler, which behaves the same", async () => {
  const host = await start((socket, index) => socket.write(okResponseText(String(index))))
  for (let index = 0; index < 40; index++)
    expect(await readText(await httpSend(upstreamRequest(host.url)))).toBe(String(index))
  expect(host.sockets).toHaveLength(2)
})

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0
const SCRIPT = `
import { Abort } from "${join(import.meta.dir, "abort.ts")}"
import { httpSender } from "${join(import.meta.dir, "http-client.ts")}"
import { dialQuickly } from "${join(import.meta.dir, "bun-wire.ts")}"
import { dialPatiently } from "${join(import.meta.dir, "wire.ts")}"
const [port] = process.argv.slice(2)
for (const dial of [dialPatiently, dialQuickly]) for (const host of ["localhost", "127.0.0.1", "wrong.localhost"]) {
  const outgoing = { url: "https://" + host + ":" + port + "/", headers: new Headers(), body: "{}", abort: new Abort() }
  const seen = await httpSender({ dial })(outgoing).then((answer) => answer.status, (thrown) => thrown.fault + " " + thrown.cause?.code)
  console.log(host, seen)
}
process.exit(0)
`

describe.skipIf(!hasOpenssl)("a host over TLS (needs openssl to make certificates)", () => {
  test("a host over TLS (needs openssl to make certificates) must prove its name by a trusted authority", async () => {
    const folder = mkdtempSync(join(tmpdir(), "trivium-tls-"))
    const path = (name: string) => join(folder, name)
    const words = [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-keyout",
      path("key"),
      "-out",
      path("cert"),
      "-days",
      "2",
    ]
    spawnSync("openssl", [...words, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
    const tls = { key: readFileSync(path("key")), cert: readFileSync(path("cert")) }
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", tls, fetch: () => new Response("hello") })
    writeFileSync(path("call.ts"), SCRIPT)
    const run = async (environment: Record<string, string>) => {
      const child = Bun.spawn([process.execPath, path("call.ts"), String(server.port)], { env: environment })
      return (await new Response(child.stdout).text()).trim().split("\n")
    }
    try {
      const proven = ["localhost 200", "127.0.0.1 200", expect.stringMatching(/^wrong\.localhost connect /)]
      expect(await run({ NODE_EXTRA_CA_CERTS: path("cert") })).toEqual([...proven, ...proven] as string[])
      for (const line of await run({})) expect(line).toMatch(/ connect /)
    } finally {
      await server.stop(true)
      rmSync(folder, { recursive: true })
    }
  })
})
