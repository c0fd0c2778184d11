// Streams broken in every way an upstream can break one: each ends in its terminal event or in one error frame, never
// in both and never in neither.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import { eventually, within } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { RawClient } from "../stage/raw-client.ts"
import {
  chunk,
  completion,
  DONE,
  ScriptedUpstream,
  streamedWords,
  type UpstreamReply,
  type UpstreamScript,
} from "../stage/upstream.ts"
import {
  CANARY,
  CREDENTIAL,
  type ErrorResponse,
  expectUnavailable,
  type ReportedError,
  readErrorResponse,
} from "./error-response.ts"

const MIB = 1024 * 1024

const messages = [{ role: "user" as const, content: "hi" }]
const unary = { model: "test/model", messages }
const streamed = { ...unary, stream: true }
const words = streamedWords("one two three")
const BEGUN = chunk({ role: "assistant", content: "" }) + chunk({ content: "Hello" })

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
})
beforeEach(() => {
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

async function ask(): Promise<ErrorResponse> {
  return readErrorResponse(await gateway.chat(streamed))
}

interface StreamResult {
  readonly status: number
  readonly text: string
  /** The data of every event, in order. */
  readonly events: string[]
  readonly ending: "done" | "error"
  readonly error: ReportedError | undefined
}

/** Reads a stream to its end and holds it to the rule: the terminal event or one error frame, once, and last. */
async function askStream(): Promise<StreamResult> {
  const response = await gateway.chat(streamed)
  const text = await response.text()
  expect(response.status).toBe(200)
  const events = eventsOf(text)
  const ends = events.filter((data) => data === "[DONE]" || "error" in JSON.parse(data))
  expect(ends).toHaveLength(1)
  expect(events.at(-1)).toBe(ends[0] as string)
  const [end = ""] = ends
  const ending = end === "[DONE]" ? "done" : "error"
  return {
    status: response.status,
    text,
    events,
    ending,
    error: ending === "error" ? JSON.parse(end).error : undefined,
  }
}

function eventsOf(text: string): string[] {
  const frames = text.replace(/^\ufeff/, "").split(/(?:\r\n|\r|\n){2}/)
  return frames.flatMap((frame) => {
    const lines = frame.split(/\r\n|\r|\n/).filter((line) => line.startsWith("data:"))
    return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).trimStart()).join("\n")]
  })
}

function contentOf({ events }: StreamResult): string {
  const chunks = events.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data))
  return chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? "").join("")
}

/** A stream of these pieces, each in a chunk of its own, with the given end. */
function streaming(
  pieces: readonly (string | Uint8Array)[],
  end: "clean" | "fin" | "reset" | "open" = "clean",
): UpstreamScript {
  return async (_, reply) => {
    reply.stream()
    for (const piece of pieces) await reply.write(piece)
    if (end === "clean") reply.end()
    else if (end !== "open") reply.cut(end)
  }
}

describe("a stream that fails before its first meaningful event", () => {
  const opener = chunk({ role: "assistant", content: "" })
  const error = `data: {"error":{"message":"${CANARY}","type":"server_error","code":"500"}}\n\n`
  const streams: Record<string, UpstreamScript> = {
    "an error first": streaming([error]),
    "an error first, then [DONE]": streaming([error + DONE]),
    "an error after the opener": streaming([opener, error, DONE]),
    "an error that is a sentence": streaming([`data: {"error":"${CANARY}"}\n\n`, DONE]),
    "a clean end without any event": streaming([]),
    "only the opener": streaming([opener]),
    "only [DONE]": streaming([DONE]),
    "the opener and [DONE]": streaming([opener, DONE]),
    "only comments": streaming([": hello\n\n: again\n\n"]),
    "garbage first": streaming([`data: {${CANARY}\n\n`, DONE]),
    "a scalar first": streaming(["data: 42\n\n", DONE]),
    "FIN after the opener": streaming([opener], "fin"),
    "RST after the opener": streaming([opener], "reset"),
    "JSON in place of events": (_, reply) => reply.json(completion(CANARY)),
    "an error as JSON in place of events": (_, reply) => reply.json({ error: { message: CANARY } }),
    "a web page in place of events": (_, reply) => reply.raw(`<html>${CANARY}</html>`, { "content-type": "text/html" }),
    "an empty answer": (_, reply) => reply.raw("", { "content-type": "text/event-stream" }),
    "RST before the headers": (_, reply) => reply.cut("reset"),
  }

  test.each(Object.entries(streams))(
    "a stream that fails before its first meaningful event is an error with a status: %s",
    async (_, script) => {
      upstream.script = script
      expectUnavailable(await ask(), (await ask()).error.attempts?.[0]?.status)
    },
  )

  test("an upstream rate limit as first event is 503 upstream_rate_limited", async () => {
    upstream.script = streaming([`data: {"error":{"message":"${CANARY}","type":"rate_limit_error"}}\n\n`])
    expect(await ask()).toMatchObject({ status: 503, error: { code: "upstream_rate_limited" } })
  })

  test("the caller's own mistake as first event is 400 with its message", async () => {
    upstream.script = streaming(['data: {"error":{"message":"No.","type":"invalid_request_error","code":null}}\n\n'])
    expect(await ask()).toMatchObject({ status: 400, error: { code: "invalid_parameter", message: "No." } })
  })

  test("a first event that quotes the gateway's credential is returned without it", async () => {
    const upstreamError = { message: `Bad key ${CREDENTIAL} given.`, type: "invalid_request_error" }
    upstream.script = streaming([`data: ${JSON.stringify({ error: upstreamError })}\n\n`])
    expect((await ask()).text).not.toContain(CREDENTIAL)
  })
})

describe("a stream that fails after its first meaningful event", () => {
  const error = `data: {"error":{"message":"${CANARY}","type":"server_error","code":"500"}}\n\n`
  const endings: Record<string, UpstreamScript> = {
    "a clean end": streaming([BEGUN]),
    "a clean end in the middle of an event": streaming([BEGUN, chunk({ content: "lost" }).slice(0, -30)]),
    "an error": streaming([BEGUN, error]),
    "an error, then [DONE]": streaming([BEGUN, error, DONE]),
    "an error in the same piece": streaming([BEGUN + error + DONE]),
    "an error that is a sentence, then [DONE]": streaming([BEGUN, `data: {"error":"${CANARY}"}\n\n`, DONE]),
    "an error after the finish": streaming([BEGUN, chunk({}, "stop"), error, DONE]),
    garbage: streaming([BEGUN, `data: {${CANARY}\n\n`, chunk({}, "stop"), DONE]),
    "a scalar": streaming([BEGUN, "data: null\n\n", DONE]),
    "an array": streaming([BEGUN, "data: []\n\n", DONE]),
  }

  test.each(Object.entries(endings))(
    "a stream that fails after its first meaningful event ends in one error frame: %s",
    async (_, script) => {
      upstream.script = script
      const read = await askStream()
      expect(read.ending).toBe("error")
      expect(read.error?.type).toBe("service_unavailable_error")
      expect(read.text).toContain("Hello")
      expect(read.text).not.toContain(CANARY)
      expect(read.text).not.toContain("[DONE]")
    },
  )

  test.each(["fin", "reset"] as const)("a connection cut by %s ends the stream in one error frame", async (how) => {
    // Bytes that the cut overtakes are lost, so it waits until the client has read its text.
    upstream.script = async (_, reply) => {
      reply.stream()
      await reply.write(BEGUN)
      await firstText.promise
      reply.cut(how)
    }
    const firstText = Promise.withResolvers<void>()
    const client = await RawClient.chat(gateway.url, { key: gateway.key, body: JSON.stringify(streamed) })
    await client.until(/Hello/)
    firstText.resolve()
    const text = await client.until(/\r\n0\r\n\r\n$/)
    expect(text.match(/data: \{"error"/g)).toHaveLength(1)
    expect(text).not.toContain("[DONE]")
    client.leave()
  })

  test.each([
    { what: "an error", event: error },
    { what: "garbage", event: "data: {\n\n" },
  ])("$what releases an upstream that stays connected", async ({ event }) => {
    const called = Promise.withResolvers<UpstreamReply>()
    upstream.script = (request, reply) => {
      called.resolve(reply)
      void streaming([BEGUN, event], "open")(request, reply)
    }
    expect((await askStream()).ending).toBe("error")
    await within((await called.promise).closed, "the release of the connection")
  })

  test("an error event that quotes the gateway's credential passes without it", async () => {
    const upstreamError = { message: `Bad key ${CREDENTIAL} given.`, type: "invalid_request_error" }
    upstream.script = streaming([BEGUN, `data: ${JSON.stringify({ error: upstreamError })}\n\n`])
    expect((await askStream()).text).not.toContain(CREDENTIAL)
  })

  test("an error member that is null is no error", async () => {
    const extra = { error: null }
    upstream.script = streaming([chunk({ content: "fine" }, null, extra), chunk({}, "stop", extra), DONE])
    const response = await gateway.chat(streamed)
    expect(await response.text()).toEndWith(DONE)
  })
})

describe("a stream cut at any byte", () => {
  const whole = Buffer.from(words.join("").replace("two", "zwölf 😀"))
  const finishEnd = whole.indexOf('"finish_reason":"stop"')
  const positions = Array.from({ length: 24 }, (_, index) => Math.round((whole.length * index) / 24))
  const character = whole.indexOf("😀")

  test.each(["fin", "reset"] as const)("a stream cut by %s is reported once", async (how) => {
    const outcomes = new Set<string>()
    for (const position of [...positions, character + 1, finishEnd, whole.length - 1, whole.length]) {
      upstream.script = streaming(position === 0 ? [] : [whole.subarray(0, position)], how)
      const response = await gateway.chat(streamed)
      const text = await response.text()
      if (response.status !== 200) {
        expect(response.status).toBe(503)
        expect(JSON.parse(text).error.code).toBe("upstream_unavailable")
        outcomes.add("status")
        continue
      }
      const ends = eventsOf(text).filter((data) => data === "[DONE]" || "error" in JSON.parse(data))
      expect({ position, ends: ends.length }).toEqual({ position, ends: 1 })
      expect(eventsOf(text).at(-1)).toBe(ends[0] as string)
      if (position < finishEnd) expect(ends[0]).not.toBe("[DONE]")
      outcomes.add(ends[0] === "[DONE]" ? "done" : "error")
    }
    expect(outcomes).toContain("status")
    expect(outcomes).toContain("error")
  })
})

describe("a stream in unusual form", () => {
  const text = words.join("")

  test("[DONE] is added if the upstream omits it after the finish", async () => {
    upstream.script = streaming(words.slice(0, -1))
    const read = await askStream()
    expect(read.ending).toBe("done")
    expect(contentOf(read)).toBe("one two three")
  })

  test("[DONE] is added after a last event without its blank line", async () => {
    upstream.script = streaming([words.slice(0, -1).join("").trimEnd()])
    const read = await askStream()
    expect(read.ending).toBe("done")
    expect(contentOf(read)).toBe("one two three")
  })

  test("[DONE] without its blank line ends the stream", async () => {
    upstream.script = streaming([text.trimEnd()])
    expect(contentOf(await askStream())).toBe("one two three")
  })

  test("bytes after [DONE] are dropped and do not delay the client", async () => {
    const called = Promise.withResolvers<UpstreamReply>()
    upstream.script = (request, reply) => {
      called.resolve(reply)
      void streaming([text, chunk({ content: CANARY }), DONE], "open")(request, reply)
    }
    const read = await askStream()
    expect(read.ending).toBe("done")
    expect(read.text).not.toContain(CANARY)
    await within((await called.promise).closed, "the release of the connection")
  })

  test("bytes in the same piece as [DONE] are dropped", async () => {
    upstream.script = streaming([text + chunk({ content: CANARY }) + DONE])
    expect((await askStream()).text).not.toContain(CANARY)
  })

  const lineEnds: Record<string, string> = { LF: "\n", CR: "\r", CRLF: "\r\n" }
  test.each(Object.entries(lineEnds))("lines may end in %s, in one piece or byte by byte", async (_, lineEnd) => {
    const bytes = Buffer.from(text.replaceAll("\n", lineEnd))
    const pieces = Array.from(bytes, (_byte, index) => bytes.subarray(index, index + 1))
    for (const cut of [[bytes], pieces]) {
      upstream.script = streaming(cut)
      const read = await askStream()
      expect(read.ending).toBe("done")
      expect(contentOf(read)).toBe("one two three")
    }
  })

  test("a byte order mark, comments, blank lines and other fields are accepted between events", async () => {
    const odd = words.map((event, index) => `: ping ${index}\n\nid: ${index}\nretry: 1000\n${event}\n\n`)
    upstream.script = streaming([`\ufeff${odd.join("")}`])
    const read = await askStream()
    expect(read.ending).toBe("done")
    expect(contentOf(read)).toBe("one two three")
  })

  test("data may span several lines and lack a space", async () => {
    const [first = "", ...rest] = words
    const pretty = JSON.stringify(JSON.parse(first.slice(6)), null, 1).split("\n")
    const split = `${pretty.map((line) => `data:${line}`).join("\n")}\n\n`
    upstream.script = streaming([split, ...rest])
    const read = await askStream()
    expect(read.ending).toBe("done")
    expect(contentOf(read)).toBe("one two three")
  })

  test("characters may be split between pieces", async () => {
    const bytes = Buffer.from(text.replace("two", "zwölf 😀 日本"))
    for (let cut = bytes.indexOf("ö"); cut < bytes.indexOf("本") + 3; cut++) {
      upstream.script = streaming([bytes.subarray(0, cut), bytes.subarray(cut)])
      expect(contentOf(await askStream())).toBe("one zwölf 😀 日本 three")
    }
  })
})

describe("an endless stream", () => {
  const endless = (begin: string, piece: Buffer, written: { bytes: number }): UpstreamScript => {
    return async (_, reply) => {
      let open = true
      void reply.closed.then(() => {
        open = false
      })
      reply.stream()
      if (begin !== "") await reply.write(begin)
      while (open && written.bytes < 256 * MIB) {
        await reply.write(piece)
        written.bytes += piece.length
        await Bun.sleep(0)
      }
    }
  }
  const pieces = {
    "one line": Buffer.alloc(MIB, "x"),
    "lines of one event": Buffer.from("data: x\n".repeat(MIB / 8)),
    "empty lines of one event, as CR": Buffer.from(`data: x\r${"id\r".repeat(MIB / 3)}`),
  }

  test.each(Object.entries(pieces))("an endless stream of %s is aborted soon", async (_, piece) => {
    const before = gateway.memoryMb
    for (const begin of ["", BEGUN]) {
      const written = { bytes: 0 }
      upstream.script = endless(begin, piece, written)
      const response = await gateway.chat(streamed)
      const text = await response.text()
      expect(response.status).toBe(begin === "" ? 503 : 200)
      expect(text).toContain("upstream_unavailable")
      expect(text).not.toContain("[DONE]")
      expect(written.bytes).toBeLessThan(64 * MIB)
    }
    expect(gateway.memoryMb - before).toBeLessThan(300)
  })

  test("an event of a million lines does not end the service of other clients", async () => {
    const event = `${"data: {\n"}${"data: \n".repeat(1_000_000)}data: }\n\n`
    upstream.script = streaming([BEGUN, event, chunk({}, "stop"), DONE])
    const reading = askStream()
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
    await reading
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
  })
})

describe("OpenAI's client", () => {
  const failures: Record<string, UpstreamScript> = {
    "FIN in the middle": streaming([BEGUN], "fin"),
    "RST in the middle": streaming([BEGUN], "reset"),
    "a clean end without a finish": streaming([BEGUN]),
    "garbage in the middle": streaming([BEGUN, "data: {\n\n", DONE]),
    "an error in the middle": streaming([BEGUN, 'data: {"error":{"message":"no"}}\n\n', DONE]),
    "an error as first event": streaming(['data: {"error":{"message":"no"}}\n\n', DONE]),
    "a stream without any event": streaming([]),
    "status 500": (_, reply) => reply.json({ error: { message: "no" } }, 500),
    "status 429": (_, reply) => reply.json({ error: { message: "no" } }, 429),
  }

  test.each(Object.entries(failures))("OpenAI's client raises its own error on %s", async (_, script) => {
    upstream.script = script
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })
    const read = async () => {
      const stream = await client.chat.completions.create({ ...unary, stream: true })
      for await (const event of stream) expect(event.object).toBe("chat.completion.chunk")
    }
    await expect(read()).rejects.toThrow(OpenAI.APIError)
  })

  test("OpenAI's client raises a permanent failure once and does not retry", async () => {
    upstream.script = (_, reply) => reply.json({ error: { message: "no" } }, 500)
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })
    // The client's promise is one of its own kind, which `expect` does not take for one.
    const call = (async () => await client.chat.completions.create(unary))()
    await expect(call).rejects.toThrow(OpenAI.APIError)
    expect(upstream.requests).toHaveLength(1)
  })
})

describe("the gateway after all broken streams", () => {
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
