import { afterEach, expect, test } from "bun:test"
import { connect, type Socket } from "node:net"
import { ClientResponse, type ResponseBody, type ResponseSink } from "../../exchange/client-response.ts"
import type { ClientRequest } from "./client-request.ts"
import { SocketListener } from "./socket-listener.ts"

const LARGE = "0123456789".repeat(2_000_000)
const PATIENCE_MS = 10_000
const GET = "GET / HTTP/1.1\r\nHost: g\r\n\r\n"

const open: { listener: SocketListener; sockets: Socket[] }[] = []
afterEach(() => {
  for (const { listener, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy()
    listener.close()
  }
})

type TestHandler = (request: ClientRequest) => ClientResponse | Promise<ClientResponse>

async function start(handle: TestHandler, { isReading = true } = {}) {
  const faults: unknown[] = []
  const listener = new SocketListener({
    host: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    maxConnections: 100,
    timeouts: { sendingMs: 300, stalledMs: 300, closingMs: 100, sweepMs: 20 },
    onFault: (cause) => faults.push(cause),
    handle,
  })
  const socket = connect({ host: "127.0.0.1", port: listener.port })
  open.push({ listener, sockets: [socket] })
  socket.on("error", () => {})
  await new Promise((resolve) => socket.once("connect", resolve))
  const seen = { text: "" }
  const keep = (bytes: Buffer) => {
    seen.text += bytes
  }
  if (isReading) socket.on("data", keep)
  else socket.pause()
  return { listener, socket, seen, faults }
}

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!holds() && performance.now() < end) await Bun.sleep(5)
  expect(holds()).toBe(true)
}

const streamOf = (pieces: readonly string[]) => {
  const state = { sink: undefined as ResponseSink | undefined, pulls: 0, isCancelled: false }
  const body: ResponseBody = {
    start: (sink) => {
      state.sink = sink
    },
    pull: () => {
      const piece = pieces[state.pulls++]
      if (piece === undefined) state.sink?.close()
      else state.sink?.enqueue(Buffer.from(piece))
    },
    cancel: () => {
      state.isCancelled = true
    },
  }
  return { state, body }
}

const overAtOnce = (text: string): ResponseBody => ({
  start: (sink) => {
    sink.enqueue(Buffer.from(text))
    sink.close()
  },
  pull: () => {},
  cancel: () => {},
})

test.each([
  ["an answer", () => LARGE],
  ["a stream that is over", () => overAtOnce(LARGE)],
])("a client that reads nothing of %s is disconnected", async (_, body) => {
  const { listener, socket } = await start(() => new ClientResponse(body(), 200), { isReading: false })
  socket.write(GET)
  await until(() => listener.pendingRequests === 1)
  await until(() => listener.size === 0)
  expect(listener.pendingRequests).toBe(0)
})

test("a stream is read only as fast as its client reads, and cancelled once the client has left", async () => {
  const { body, state } = streamOf(Array.from({ length: 100 }, () => "0123456789".repeat(100_000)))
  const { listener, socket } = await start(() => new ClientResponse(body, 200), { isReading: false })
  socket.write(GET)
  await until(() => state.pulls > 0)
  await Bun.sleep(100)
  expect(state.pulls).toBeLessThan(50)
  expect(listener.size).toBe(1)
  socket.destroy()
  await until(() => state.isCancelled)
  await until(() => listener.size === 0)
})

test("a stream arrives whole, in chunks", async () => {
  const { socket, seen } = await start(() => new ClientResponse(streamOf(["one ", "", "two"]).body, 200))
  socket.write(GET)
  await until(() => seen.text.endsWith("0\r\n\r\n"))
  expect(seen.text).toEndWith("\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")
})

test("a stream that fails is sent without its end", async () => {
  const { body } = streamOf(["one"])
  if (typeof body !== "object" || body === null || body instanceof Uint8Array) throw new Error("it is a stream")
  const pull = body.pull.bind(body)
  let pulls = 0
  const failing = { ...body, pull: () => (pulls++ === 0 ? pull() : Promise.reject(new Error("upstream"))) }
  const { listener, socket, seen } = await start(() => new ClientResponse(failing, 200))
  socket.write(GET)
  await until(() => seen.text.endsWith("\r\n3\r\none\r\n"))
  await until(() => listener.size === 0)
  expect(seen.text).toEndWith("\r\n3\r\none\r\n")
})

test("a handler that fails is reported and closes only its own client's connection", async () => {
  const { listener, socket, faults } = await start(() => Promise.reject(new Error("odd")))
  socket.write(GET)
  await until(() => faults.length === 1)
  await until(() => listener.size === 0)
  expect(faults).toHaveLength(1)
  const thrown = await start(() => {
    throw new Error("odd")
  })
  thrown.socket.write(GET)
  await until(() => thrown.listener.size === 0)
  expect(thrown.faults).toHaveLength(1)
  expect(thrown.listener.pendingRequests).toBe(0)
})

test("a header value with a line break does not end its line", async () => {
  const answer = new ClientResponse("ok", 200)
  answer.headers.set("x-gateway-losses", "a\r\nx-other: b\u00fc\u4e2d")
  const { socket, seen } = await start(() => answer)
  socket.write(GET)
  await until(() => seen.text.endsWith("ok"))
  expect(seen.text).toContain("\r\nx-gateway-losses: a??x-other: b??\r\n")
})

test("stopping closes idle connections at once, and busy ones after their response", async () => {
  const gate = Promise.withResolvers<ClientResponse>()
  const { listener, socket, seen } = await start(() => gate.promise)
  const idle = connect({ host: "127.0.0.1", port: listener.port })
  open[0]?.sockets.push(idle)
  idle.resume()
  await until(() => listener.size === 2)
  socket.write(GET)
  await until(() => listener.pendingRequests === 1)
  listener.stopAccepting()
  await until(() => listener.size === 1)
  gate.resolve(new ClientResponse("last", 200))
  await until(() => listener.size === 0)
  expect(seen.text).toContain("connection: close\r\n")
  expect(seen.text).toEndWith("last")
})
