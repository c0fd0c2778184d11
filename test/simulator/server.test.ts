import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { SimulatorServer } from "../../src/simulator/server.ts"
import { ChargeLog, type SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { eventually } from "../stage/eventually.ts"
import { RawClient } from "../stage/raw-client.ts"
import { readRaw, requestText, unchunked } from "./raw-caller.ts"
import { SIMULATED_PROTOCOLS, type SimulatorQuestion } from "./simulated-protocols.ts"

const log = new ChargeLog()
let server: SimulatorServer
beforeAll(async () => {
  server = await SimulatorServer.start({ host: "127.0.0.1", port: 0, simulator: { onCharge: log.add } })
})
afterAll(() => server.stop())

const close = { connection: "close" }
const lastBill = (): SimulatedCharge | undefined => log.charges.at(-1)

function post({ path, body }: SimulatorQuestion, init: RequestInit = {}): Promise<Response> {
  return fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(body), ...init })
}

describe.each(SIMULATED_PROTOCOLS.map((each) => [each.name, each] as const))(
  "the simulator over a socket, %s",
  (_, protocol) => {
    const { stream, whole, terminal, requestId } = protocol

    test("a stream ends with its terminal event, and closes with FIN if requested", async () => {
      const { text, closed } = await readRaw(server.url, stream, { headers: close })
      const { body, isFinished } = unchunked(text)
      expect(text).toStartWith("HTTP/1.1 200 OK\r\n")
      expect(body).toContain(terminal)
      expect({ isFinished, closed }).toEqual({ isFinished: true, closed: "fin" })
    })

    test("a whole answer has a length", async () => {
      const response = await post(whole)
      expect(response.headers.get(requestId)).toMatch(/^req_/)
      expect(Number(response.headers.get("content-length"))).toBe(Buffer.byteLength(await response.text()))
    })

    test("an answer is reset with RST at each stage", async () => {
      const early = await readRaw(server.url, stream, { words: "reset-before-headers" })
      expect(early).toEqual({ segments: [], text: "", closed: "ECONNRESET" })
      for (const count of [0, 2]) {
        const { text, closed } = await readRaw(server.url, stream, { words: `reset-after-${count}` })
        expect(text).toStartWith("HTTP/1.1 200 OK\r\n")
        expect(unchunked(text)).toMatchObject({ chunks: count, isFinished: false })
        expect(closed).toBe("ECONNRESET")
      }
      expect((await readRaw(server.url, whole, { words: "reset-after-1" })).closed).toBe("ECONNRESET")
    })

    test("an answer is cut with FIN at each stage, without the final chunk", async () => {
      expect(await readRaw(server.url, stream, { words: "cut-before-headers" })).toMatchObject({
        text: "",
        closed: "fin",
      })
      for (const count of [0, 2]) {
        const { text, closed } = await readRaw(server.url, stream, { words: `cut-after-${count}` })
        expect(unchunked(text)).toMatchObject({ chunks: count, isFinished: false })
        expect(closed).toBe("fin")
      }
      const { text, closed } = await readRaw(server.url, whole, { words: "cut-after-1" })
      const announced = Number(/content-length: (\d+)/.exec(text)?.[1])
      expect(text.length - text.indexOf("\r\n\r\n") - 4).toBeLessThan(announced)
      expect(closed).toBe("fin")
    })

    test("a stream may end cleanly without its terminal event", async () => {
      const { text } = await readRaw(server.url, stream, { words: "end-after-2", headers: close })
      expect(unchunked(text)).toMatchObject({ chunks: 2, isFinished: true })
      expect(text).not.toContain(terminal)
    })

    test("a stream arrives in as many segments as requested", async () => {
      const { segments, text } = await readRaw(server.url, stream, { words: "split-40.end-after-3", headers: close })
      const { chunks, body } = unchunked(text)
      expect(chunks).toBeGreaterThanOrEqual(Math.ceil(body.length / 40))
      expect(segments.length).toBeGreaterThan(chunks / 2)
    })

    test("a stalled answer lasts until the caller leaves, and is then released", async () => {
      for (const words of ["stall-before-headers", "stall-after-0", "stall-after-2"]) {
        const before = server.openSockets
        const client = await RawClient.connect(server.url)
        await client.send(requestText(stream, { "x-simulate": words }))
        if (words !== "stall-before-headers") await client.until(/\r\n\r\n/)
        await Bun.sleep(30)
        const { received } = client
        if (words === "stall-before-headers") expect(received).toBe("")
        else expect(unchunked(received)).toMatchObject({ chunks: Number(words.at(-1)), isFinished: false })
        client.leave("reset")
        await eventually(() => server.openSockets <= before, { what: "letting go" })
      }
    })
  },
)

const { stream: chat, whole: unary } = SIMULATED_PROTOCOLS[0] as (typeof SIMULATED_PROTOCOLS)[number]

test("fetch sees a broken connection as from a vendor", async () => {
  for (const words of ["reset-before-headers", "cut-before-headers"]) {
    const answer = post(chat, { headers: { "x-simulate": words }, keepalive: false })
    expect(await answer.catch((thrown) => thrown.code)).toBe("ECONNRESET")
  }
  for (const words of ["reset-after-2", "cut-after-2"]) {
    const response = await post(chat, { headers: { "x-simulate": words } })
    expect(await response.text().catch((thrown) => thrown.code)).toBe("ECONNRESET")
  }
})

test("a connection carries many requests, pipelined ones too", async () => {
  const client = await RawClient.connect(server.url)
  await client.send(requestText(unary) + requestText(unary) + requestText(chat))
  await client.until(/0\r\n\r\n$/)
  expect(client.received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3)
  await client.send(requestText(unary))
  await client.until(/(HTTP\/1\.1 200 OK[\s\S]*){4}/)
  client.leave()
})

test("a request may be chunked, in pieces, or expect 100-continue", async () => {
  const body = JSON.stringify(unary.body)
  const head = `POST ${unary.path} HTTP/1.1\r\nhost: simulator\r\n`
  const chunked = `${head}transfer-encoding: chunked\r\n\r\n5\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`
  const client = await RawClient.connect(server.url)
  for (const byte of chunked) await client.send(byte)
  await client.until(/"total_tokens"[\s\S]*}$/)
  client.leave()
  const patient = await RawClient.connect(server.url)
  await patient.send(`${head}expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`)
  await patient.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  for (const byte of body) await patient.send(byte)
  await patient.until(/"total_tokens"[\s\S]*}$/)
  expect(patient.received.match(/100 Continue/g)).toHaveLength(1)
  patient.leave()
})

test("a request that is not HTTP is rejected, and the connection closed", async () => {
  for (const bytes of ["hello\r\n\r\n", "POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n"]) {
    const client = await RawClient.connect(server.url)
    await client.send(bytes)
    await client.closed
    expect(client.received).toStartWith("HTTP/1.1 400 Bad Request\r\n")
  }
})

test("a list of models exists below any prefix, and no other GET", async () => {
  for (const path of ["/models", "/v1/models", "/v1beta/models?pageSize=3"]) {
    const response = await fetch(server.url + path)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ object: "list", data: [{ id: "simulator" }] })
  }
  expect((await fetch(`${server.url}/v1/files`)).status).toBe(404)
  expect((await fetch(`${server.url}/v1/models`, { method: "DELETE" })).status).toBe(404)
})

test("a stalled reader stalls only its own stream", async () => {
  const long = { ...chat, body: { ...chat.body, messages: [{ role: "user", content: "Write 20000 words" }] } }
  const slow = await RawClient.connect(server.url)
  slow.stopReading()
  const before = log.charges.length
  for (let at = 0; at < 8; at++) await slow.send(requestText(long))
  expect((await post(unary)).status).toBe(200)
  await Bun.sleep(300)
  // Of eight pipelined streams of 4 MB the kernel takes the first few, and the rest is not produced.
  expect(log.charges.length - before).toBeLessThan(8)
  slow.readOn()
  await eventually(() => log.charges.length - before === 9, { what: "the rest" })
  slow.leave()
})

test("a caller that leaves is noticed long before the end, and pays for the output sent", async () => {
  // It would last for minutes: a short pause of the machine does not end it.
  const long = { ...chat, body: { ...chat.body, messages: [{ role: "user", content: "Write 2000 words" }] } }
  const words = { "x-simulate": "tokens-per-second-5" }
  for (const how of ["fin", "reset"] as const) {
    const before = log.charges.length
    const client = await RawClient.connect(server.url)
    await client.send(requestText(long, words))
    await client.until(/(chat\.completion\.chunk[\s\S]*){8}/)
    client.leave(how)
    await eventually(() => log.charges.length > before, { what: "the bill" })
    expect(lastBill()).toMatchObject({ ended: "client-gone", input_tokens: 3 })
    // The first chunk has no text, and some tokens may be in transit.
    expect(lastBill()?.output_tokens).toBeWithin(7, 30)
  }
})

test("2,000 streams run concurrently", async () => {
  const paced = { "x-simulate": "first-token-ms-300.tokens-per-second-1000" }
  const body = JSON.stringify({ ...chat.body, max_tokens: 5 })
  // One after the other they would take ten minutes, and the test would be ended before.
  const answers = Array.from({ length: 2000 }, async () => {
    const response = await fetch(`${server.url}${chat.path}`, { method: "POST", body, headers: paced })
    return (await response.text()).endsWith("data: [DONE]\n\n")
  })
  expect((await Promise.all(answers)).every(Boolean)).toBe(true)
})

test("a port in use is rejected with the remedy", async () => {
  const port = Number(new URL(server.url).port)
  const second = SimulatorServer.start({ host: "127.0.0.1", port })
  await expect(second).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: the port is taken; give another with --port`,
  )
})
