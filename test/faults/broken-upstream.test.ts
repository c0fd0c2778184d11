// Answers broken in every way an upstream can break one: the caller gets one proper error.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { gzipSync } from "node:zlib"
import { eventually, within } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { completion, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"
import { CANARY, CREDENTIAL, type ErrorResponse, expectUnavailable, readErrorResponse } from "./error-response.ts"

const MIB = 1024 * 1024

const messages = [{ role: "user" as const, content: "hi" }]
const unary = { model: "test/model", messages }
const streamed = { ...unary, stream: true }

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve))
  const { port } = closed.address() as { port: number }
  await new Promise((resolve) => closed.close(resolve))
  const config = upstreamConfig(upstream.baseUrl).replace(
    "models:",
    `  nowhere: { type: openai-compatible, base_url: "http://127.0.0.1:${port}/v1" }
models:
  - { id: test/nowhere, kind: chat, pricing: { input: "1", output: "2" }, targets: [{ provider: nowhere, model: upstream-model }] }`,
  )
  gateway = await RunningGateway.start({ config })
})
beforeEach(() => {
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})
async function ask(body: unknown = unary): Promise<ErrorResponse> {
  return readErrorResponse(await gateway.chat(body))
}

describe("a unary answer", () => {
  const whole = JSON.stringify(completion(CANARY))
  const answers: Record<string, (reply: UpstreamReply) => void> = {
    "reset before its headers": (reply) => reply.cut("reset"),
    "closed before its headers": (reply) => reply.cut("fin"),
    "reset in the middle": async (reply) => {
      reply.stream({ "content-type": "application/json" })
      await reply.write(whole.slice(0, 100))
      reply.cut("reset")
    },
    "cut off before its last chunk": async (reply) => {
      reply.stream({ "content-type": "application/json" })
      await reply.write(whole)
      reply.cut("fin")
    },
    "shorter than announced": (reply) => {
      reply.raw(whole, { "content-length": String(whole.length + 10) })
      reply.cut("fin")
    },
    "that ends early": (reply) => reply.raw(whole.slice(0, -1)),
    "that is not JSON": (reply) => reply.raw(CANARY),
    "that is empty": (reply) => reply.raw(""),
    "that is a web page": (reply) => reply.raw(`<html>${CANARY}</html>`, { "content-type": "text/html" }),
    "without choices": (reply) => reply.json({ id: CANARY, object: "chat.completion" }),
    "that is an array": (reply) => reply.json([completion(CANARY)]),
    "that is null": (reply) => reply.raw("null"),
    "of several objects": (reply) => reply.raw(whole + whole),
    "that is an error with status 200": (reply) => reply.json({ error: { message: CANARY, code: 500 } }),
    "that is a sentence with status 200": (reply) => reply.json({ error: CANARY }),
    "that claims to be compressed and is not": (reply) => reply.raw(whole, { "content-encoding": "gzip" }),
  }

  test.each(Object.entries(answers))("a unary answer %s is 503", async (_, answer) => {
    upstream.script = (_request, reply) => answer(reply)
    const reply = await ask()
    expect(reply.error.attempts?.[0]?.status === undefined || reply.error.attempts[0].status === 502).toBe(true)
    expectUnavailable(reply, reply.error.attempts?.[0]?.status)
  })

  test("a unary answer from a host that refuses connections is 503", async () => {
    expectUnavailable(await ask({ ...unary, model: "test/nowhere" }))
    expectUnavailable(await ask({ ...streamed, model: "test/nowhere" }))
  })

  test("a unary answer with choices and an error is an error", async () => {
    upstream.script = (_, reply) => reply.json({ choices: [], error: { message: CANARY, code: 500 } })
    expect((await ask()).status).toBe(503)
  })

  test("an answer that was compressed without being requested arrives decompressed", async () => {
    upstream.script = (_, reply) =>
      reply.raw(gzipSync(JSON.stringify(completion("plain"))), { "content-encoding": "gzip" })
    const response = await gateway.chat(unary)
    expect(upstream.lastRequest().headers["accept-encoding"]).toBe("identity")
    expect(response.headers.get("content-encoding")).toBeNull()
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "plain" } }] })
  })

  test("a unary answer of 10 MB arrives whole", async () => {
    const content = "0123456789".repeat(MIB)
    upstream.script = (_, reply) => reply.json(completion(content))
    const body = (await (await gateway.chat(unary)).json()) as { choices: { message: { content: string } }[] }
    expect(body.choices[0]?.message.content === content).toBe(true)
  })

  test("a unary answer that would fill the memory is refused, announced or not, and its connection is freed", async () => {
    const closings: Promise<number>[] = []
    const before = gateway.memoryMb
    upstream.script = (_, reply) => {
      closings.push(reply.closed)
      reply.raw("{", { "content-length": String(1024 * MIB) })
    }
    expectUnavailable(await ask())
    upstream.script = async (_, reply) => {
      closings.push(reply.closed)
      let open = true
      void reply.closed.then(() => {
        open = false
      })
      reply.stream({ "content-type": "application/json" })
      const piece = Buffer.alloc(MIB, " ")
      for (let sent = 0; open && sent < 256; sent++) {
        await reply.write(piece)
        await Bun.sleep(0)
      }
    }
    expectUnavailable(await ask())
    expect(gateway.memoryMb - before).toBeLessThan(300)
    for (const closing of closings) await within(closing, "the release of the connection")
  })

  test("a unary answer that decompresses beyond the size limit is rejected", async () => {
    const bomb = gzipSync(Buffer.concat([Buffer.alloc(128 * MIB, " "), Buffer.from(JSON.stringify(completion("x")))]))
    upstream.script = (_, reply) => reply.raw(bomb, { "content-encoding": "gzip" })
    expectUnavailable(await ask())
  })
})

describe("an upstream's status", () => {
  const bodies: Record<string, string> = {
    "OpenAI's error": JSON.stringify({ error: { message: CANARY, type: "x", code: CANARY, param: null } }),
    "a flat error": JSON.stringify({ message: CANARY, code: CANARY }),
    "a sentence": JSON.stringify({ error: CANARY }),
    "a web page": `<html>${CANARY}</html>`,
    "an empty body": "",
    "half an object": `{"error":{"message":"${CANARY}`,
    "an array": JSON.stringify([CANARY]),
    null: "null",
    "bytes that are no text": "\xff\xfe\x00",
    "a hundred kilobytes": JSON.stringify({ error: { message: CANARY.repeat(6000) } }),
  }
  const statuses = [301, 302, 304, 307, 308, 401, 402, 403, 404, 405, 408, 409, 425, 500, 502, 503, 504, 529]

  test.each(statuses)("the status %d is 503 with any body", async (status) => {
    for (const body of Object.values(bodies)) {
      upstream.script = (_, reply) => reply.raw(status === 304 ? "" : body, {}, status)
      expectUnavailable(await ask(), status)
      expectUnavailable(await ask(streamed), status)
    }
  })

  test("the status 204 without an answer is 503", async () => {
    upstream.script = (_, reply) => reply.raw("", {}, 204)
    expectUnavailable(await ask())
    expectUnavailable(await ask(streamed))
  })

  test("a redirect of the upstream is not followed", async () => {
    const location = `${upstream.baseUrl}/elsewhere`
    for (const status of [301, 302, 303, 307, 308]) {
      upstream.requests.length = 0
      upstream.script = (request, reply) =>
        request.path.endsWith("elsewhere") ? reply.json(completion("no")) : reply.raw("", { location }, status)
      expectUnavailable(await ask(), status)
      expect(upstream.requests).toHaveLength(1)
    }
  })

  test.each([400, 413, 422])(
    "the status %d about the caller's parameters is returned as 400 with its message",
    async (status) => {
      const error = { message: "`logit_bias` must be an object.", type: "x", param: "logit_bias", code: null }
      upstream.script = (_, reply) => reply.json({ error }, status)
      for (const body of [unary, streamed]) {
        expect(await ask(body)).toMatchObject({
          status: 400,
          error: { code: "invalid_parameter", message: error.message },
        })
      }
    },
  )

  test.each(Object.entries(bodies))("the status 400 with %s is 400", async (_, body) => {
    upstream.script = (_request, reply) => reply.raw(body, {}, 400)
    const { status, error } = await ask()
    expect({ status, code: error.code }).toEqual({ status: 400, code: "invalid_parameter" })
    expect(error.message.length).toBeGreaterThan(0)
    expect(error.message.length).toBeLessThan(5000)
  })

  test("a 400 that quotes the gateway's credential is returned without it", async () => {
    upstream.script = (_, reply) => reply.json({ error: { message: `Bad key ${CREDENTIAL} given.` } }, 400)
    const { text } = await ask()
    expect(text).not.toContain(CREDENTIAL)
  })

  const later = (ms: number) => new Date(Date.now() + ms).toUTCString()
  const waits: {
    what: string
    headers: Record<string, string>
    seconds: [number, number] | undefined
    final: boolean
  }[] = [
    { what: "nothing", headers: {}, seconds: undefined, final: true },
    { what: "seconds", headers: { "retry-after": "7" }, seconds: [7, 7], final: false },
    { what: "milliseconds", headers: { "retry-after-ms": "1500" }, seconds: [2, 2], final: false },
    {
      what: "milliseconds before seconds",
      headers: { "retry-after-ms": "900", "retry-after": "30" },
      seconds: [1, 1],
      final: false,
    },
    { what: "a date", headers: { "retry-after": later(30_000) }, seconds: [1, 30], final: false },
    { what: "a date gone by", headers: { "retry-after": later(-30_000) }, seconds: [0, 0], final: false },
    { what: "an hour", headers: { "retry-after": "3600" }, seconds: [3600, 3600], final: true },
    { what: "nonsense", headers: { "retry-after": "soon" }, seconds: undefined, final: true },
    { what: "negative", headers: { "retry-after": "-5" }, seconds: undefined, final: true },
    { what: "endless", headers: { "retry-after": "Infinity" }, seconds: undefined, final: true },
  ]

  test.each(waits)("a 429 is 503, never 429, with the delay: $what", async ({ headers, seconds, final }) => {
    upstream.script = (_, reply) => reply.json({ error: { message: CANARY } }, 429, headers)
    const answer = await ask()
    expect({ status: answer.status, code: answer.error.code }).toEqual({ status: 503, code: "upstream_rate_limited" })
    expect(answer.error.attempts?.[0]?.status).toBe(429)
    expect(answer.text).not.toContain(CANARY)
    expect(answer.headers.get("x-should-retry")).toBe(final ? "false" : null)
    const retryAfter = answer.headers.get("retry-after")
    if (!seconds) expect(retryAfter).toBeNull()
    else {
      expect(Number(retryAfter)).toBeGreaterThanOrEqual(seconds[0])
      expect(Number(retryAfter)).toBeLessThanOrEqual(seconds[1])
    }
  })

  test("an upstream error with a large body frees its connection", async () => {
    const called = Promise.withResolvers<UpstreamReply>()
    upstream.script = (_, reply) => {
      called.resolve(reply)
      reply.raw("<html>", { "content-length": String(MIB) }, 500)
    }
    expectUnavailable(await ask(), 500)
    await within((await called.promise).closed, "the release of the connection")
  })
})

describe("the gateway after all broken answers", () => {
  test("the gateway still answers, and its log has no upstream text and no internal error", async () => {
    upstream.script = (_, reply) => reply.json(completion("well"))
    const response = await gateway.chat(unary)
    expect(response.status).toBe(200)
    const id = response.headers.get("x-request-id")
    await eventually(() => gateway.logged("exchange").some(({ request_id }) => request_id === id))
    for (const word of [CANARY, CREDENTIAL, gateway.key, "internal_error"]) {
      expect(gateway.output.stderr.includes(word)).toBe(false)
    }
    for (const fault of ["unhandled-rejection", "uncaught-exception", "observer-failed"]) {
      expect(gateway.logged(fault)).toBeEmpty()
    }
  })
})
