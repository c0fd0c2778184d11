import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import { grownPartKey, isMeaningful, type StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { encodeByteText, fromByteText, toByteText } from "../../../transport/json/byte-text.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import { Tee } from "../../../transport/streams/tee.ts"
import type { RequestSummary } from "../../contract.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { relayStream } from "./relay-stream.ts"

type StreamFraming = RequestSummary["framing"]

const place = { requestId: "r", unixTime: 0 }

function reading(framing: StreamFraming): RequestSummary {
  const routing = { fallback: [] }
  return {
    operation: "streamGenerateContent",
    model: "a/b",
    stream: true,
    framing,
    usageRequested: true,
    outputLimits: { candidates: 1 },
    routing,
    headers: {},
  }
}

function frames(text: string) {
  const step = decodeSse()
  return [...step.push(encodeByteText(text)), ...step.finish()]
}

function eventsOf(text: string): StreamEvent[] {
  const decoder = decodeStream()
  return [...frames(text).flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

const events = (...chunks: object[]) =>
  eventsOf(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join(""))

const chunkOf = (parts: object[], more: object = {}, index?: number) => ({
  candidates: [{ content: { parts, role: "model" }, ...(index !== undefined && { index }), ...more }],
})
const stop = { finishReason: "STOP" }

describe("the decoder", () => {
  test("the decoder reads text, finish and usage", () => {
    const head = { modelVersion: "m", responseId: "r1", createTime: "2025-01-01T00:00:00.5Z" }
    const read = events(
      { ...chunkOf([{ text: "Grüß " }]), ...head, usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } },
      { ...chunkOf([{ text: "dich" }], stop), usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 } },
    )
    expect(assembleResponse(read)).toEqual({
      id: "r1",
      model: "m",
      created: 1735689600,
      candidates: [
        { index: 0, parts: [{ kind: "text", text: "Grüß dich" }], finish: { reason: "stop", word: "STOP" } },
      ],
      usage: { input: 3, output: 2 },
    })
    expect(read.filter(({ type }) => type === "usage")).toHaveLength(2)
    expect(read.at(-1)).toEqual({ type: "stream-end" })
  })

  test("the decoder reads reasoning, calls and their signatures", () => {
    const read = events(
      chunkOf([{ text: "hm", thought: true }]),
      chunkOf([{ text: "!", thought: true, thoughtSignature: "s1" }]),
      chunkOf([{ text: "Let me look." }]),
      chunkOf([
        { functionCall: { name: "f", args: { x: 1 } }, thoughtSignature: "s2" },
        { functionCall: { id: "c2", name: "g" } },
      ]),
      chunkOf([{ text: "" }], stop),
    )
    expect(assembleResponse(read).candidates).toEqual([
      {
        index: 0,
        parts: [
          { kind: "reasoning", form: "summary", text: "hm!", sealed: { mintedBy: "google", data: "s1" } },
          { kind: "text", text: "Let me look." },
          {
            kind: "tool-call",
            id: "",
            name: "f",
            runsAt: "client",
            arguments: '{"x":1}',
            sealed: { mintedBy: "google", data: "s2" },
          },
          { kind: "tool-call", id: "c2", name: "g", runsAt: "client", arguments: "{}" },
        ],
        finish: { reason: "tool-calls", word: "STOP" },
      },
    ])
  })

  test("a signature outside reasoning and calls becomes hidden reasoning after the part that it signs", () => {
    const parts = (...parts: object[]) =>
      assembleResponse(events(...parts.map((part) => chunkOf([part])), chunkOf([], stop))).candidates[0]?.parts
    const sealedBy = (data: string) => ({
      kind: "reasoning",
      form: "hidden",
      text: "",
      sealed: { mintedBy: "google", data },
    })
    const a = { kind: "text", text: "a" }
    expect(parts({ text: "a" }, { text: "", thoughtSignature: "s" })).toEqual([a, sealedBy("s")] as never)
    expect(parts({ text: "a" }, { thoughtSignature: "s" })).toEqual([a, sealedBy("s")] as never)
    expect(parts({ text: "", thoughtSignature: "s" })).toEqual([sealedBy("s")] as never)
    expect(parts({ text: "a", thoughtSignature: "s" })).toEqual([a, sealedBy("@s")] as never)
  })

  test("the decoder reads media, and passes on parts that only this protocol knows", () => {
    const unknown = { functionCall: { willContinue: true } }
    const parts = [{ inlineData: { mimeType: "image/png", data: "aGk=" } }, { newThing: { x: 1 } }, unknown]
    const read = events(chunkOf([{ text: "a" }, ...parts, { text: "b" }], stop))
    expect(assembleResponse(read).candidates[0]?.parts).toEqual([
      { kind: "text", text: "a" },
      { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "aGk=" } },
      { kind: "foreign", protocol: "gemini-generate", value: { newThing: { x: 1 } } },
      { kind: "foreign", protocol: "gemini-generate", value: unknown },
      { kind: "text", text: "b" },
    ])
    expect(events(chunkOf(parts)).some(isMeaningful)).toBe(true)
  })

  test("the decoder reads code that the provider ran, and its result", () => {
    const read = events(
      chunkOf([{ executableCode: { language: "PYTHON", code: "1" }, thoughtSignature: "s" }]),
      chunkOf([{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "1\n" } }], stop),
    )
    expect(assembleResponse(read).candidates[0]).toMatchObject({
      parts: [
        {
          kind: "tool-call",
          name: "code_execution",
          arguments: '{"language":"PYTHON","code":"1"}',
          runsAt: "provider",
        },
        { kind: "tool-result", name: "code_execution", parts: [{ kind: "text", text: "1\n" }], isError: false },
      ],
      finish: { reason: "stop" },
    })
  })

  test("the decoder assembles arguments that arrive in pieces", () => {
    const bit = (more: object) => chunkOf([{ functionCall: { willContinue: true, ...more } }])
    const args = (...partialArgs: object[]) => bit({ partialArgs })
    const read = events(
      chunkOf([{ functionCall: { name: "cook", willContinue: true }, thoughtSignature: "s" }]),
      args({ jsonPath: "$.dish.name", stringValue: "Las", willContinue: true }),
      args(
        { jsonPath: "$.dish.name", stringValue: "agna", willContinue: true },
        { jsonPath: "$.dish.name", stringValue: "" },
      ),
      args({ jsonPath: "$.steps[0]", stringValue: "boil" }, { jsonPath: "$.steps[1]['min']", numberValue: 5 }),
      args({ jsonPath: "$.hot", boolValue: true }, { jsonPath: "$.__proto__.x", nullValue: null }, { jsonPath: "odd" }),
      chunkOf([{ functionCall: {} }]),
      chunkOf([{ text: "" }], stop),
    )
    const [call] = assembleResponse(read).candidates[0]?.parts ?? []
    expect(call).toMatchObject({ kind: "tool-call", name: "cook", sealed: { data: "s" } })
    expect(call?.kind === "tool-call" && call.arguments).toBe(
      '{"dish":{"name":"Lasagna"},"steps":["boil",{"min":5}],"hot":true,"__proto__":{"x":null}}',
    )
  })

  test("the decoder keeps candidates apart, and ends when all have ended", () => {
    const first = [chunkOf([{ text: "a" }], {}, 1), chunkOf([{ text: "b" }], stop, 0)]
    expect(events(...first).some(({ type }) => type === "stream-end")).toBe(false)
    const read = events(...first, chunkOf([{ text: "c" }], { finishReason: "MAX_TOKENS" }, 1))
    expect(assembleResponse(read).candidates.map(({ parts, finish }) => [parts, finish?.reason])).toEqual([
      [[{ kind: "text", text: "b" }], "stop"],
      [[{ kind: "text", text: "ac" }], "length"],
    ])
    expect(read.at(-1)).toEqual({ type: "stream-end" })
  })

  test("a stream without a finish reason is not complete", () => {
    expect(events().length).toBe(0)
    expect(events({ usageMetadata: { promptTokenCount: 1 } }).at(-1)?.type).toBe("usage")
    expect(events(chunkOf([{ text: "a" }])).at(-1)?.type).toBe("part-delta")
    expect(events(chunkOf([{ text: "a" }], { finishReason: "FINISH_REASON_UNSPECIFIED" })).at(-1)?.type).toBe(
      "part-delta",
    )
  })

  test("parts after the finish reason still count", () => {
    const read = events(chunkOf([{ text: "a" }], stop), { usageMetadata: { promptTokenCount: 7 } })
    expect(read.slice(-2).map(({ type }) => type)).toEqual(["usage", "stream-end"])
  })

  test("a blocked prompt is a filtered and complete response", () => {
    const read = events({ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 7 } })
    expect(assembleResponse(read).candidates).toEqual([
      { index: 0, parts: [], finish: { reason: "filtered", word: "SAFETY" } },
    ])
    expect(read.at(-1)).toEqual({ type: "stream-end" })
    expect(events({ promptFeedback: { safetyRatings: [] } }).map(({ type }) => type)).toEqual(["stream-start"])
  })

  test("an opening event is not meaningful; reasoning, a call and a finish are", () => {
    const meaningful = (chunk: object) => events(chunk).some(isMeaningful)
    expect(meaningful({ ...chunkOf([]), usageMetadata: { promptTokenCount: 1 } })).toBe(false)
    expect(meaningful(chunkOf([{ text: "" }]))).toBe(false)
    expect(meaningful(chunkOf([{ text: "hm", thought: true }]))).toBe(true)
    expect(meaningful(chunkOf([{ functionCall: { name: "f" } }]))).toBe(true)
    expect(meaningful(chunkOf([], stop))).toBe(true)
  })

  test("an error is decoded also if it is bare, on several lines, or in an array", () => {
    const codeOf = (text: string) => {
      const event = eventsOf(text).find(({ type }) => type === "stream-error")
      return event?.type === "stream-error" ? event.error.code : undefined
    }
    const error = { error: { code: 503, message: "busy", status: "UNAVAILABLE" } }
    const before = `data: ${JSON.stringify(chunkOf([{ text: "a" }]))}\r\n\r\n`
    expect(codeOf(`data: ${JSON.stringify(error)}\n\n`)).toBe("upstream_unavailable")
    expect(codeOf(before + JSON.stringify(error))).toBe("upstream_unavailable")
    expect(codeOf(before + JSON.stringify({ error: { ...error.error, code: 429 } }, null, 2))).toBe(
      "upstream_rate_limited",
    )
    expect(codeOf(`[${JSON.stringify({ error: { code: 400, message: "bad" } }, null, 2)}]`)).toBe("invalid_parameter")
    expect(codeOf("data: {oops\n\n")).toBe("upstream_unavailable")
    expect(codeOf("data: [1]\n\n")).toBe("upstream_unavailable")
    expect(codeOf(`[${JSON.stringify(chunkOf([{ text: "a" }], stop))}]`)).toBe("upstream_unavailable")
  })

  test("comments, blank lines and other protocols' end markers yield no events", () => {
    expect(eventsOf(": ping\n\n\n\n\n\ndata: [DONE]\n\ndata:\n\n")).toEqual([])
  })
})

const odd =
  '{"z":12345678901234567890, "modelVersion" : "up-1","n":1.0,"candidates":[{"content":{"parts":[{"text":"\\u00fc\\/ü"}],' +
  '"modelVersion":"inner"}}],"1":null}'
const renamed = odd.replace('"up-1"', '"a/b"')

function pass(text: string, framing: StreamFraming): string {
  const relay = relayStream({ model: "a/b", reading: reading(framing) })
  const passed = frames(text).map((frame) => relay.edit(frame))
  return Buffer.from(passed.join("") + relay.terminal(), "latin1").toString()
}

describe("relaying events", () => {
  test("the relay replaces the model's name and leaves the rest", () => {
    expect(pass(`data: ${odd}\r\n\r\ndata: ${odd}\n\n`, "events")).toBe(`data: ${renamed}\r\n\r\ndata: ${renamed}\n\n`)
    expect(pass('data: {"candidates":[]}\n\n', "events")).toBe('data: {"candidates":[],"modelVersion":"a/b"}\n\n')
  })

  test("the relay drops frames on which this protocol's clients fail", () => {
    expect(pass(`: ping\n\ndata: ${odd}\n\ndata: [DONE]\n\ndata:\n\n`, "events")).toBe(`data: ${renamed}\n\n`)
  })

  test("an error is a separate line", () => {
    const relay = relayStream({ model: "a/b", reading: reading("events") })
    const frame = relay.errorFrame(new GatewayError("upstream_unavailable", "x"), place)
    expect(JSON.parse(frame)).toMatchObject({ error: { code: 503, details: [{ reason: "upstream_unavailable" }] } })
    expect(frame).not.toContain("\n")
  })
})

describe("relaying an array", () => {
  test("the relay writes each event as an element of the array", () => {
    expect(pass(`data: ${odd}\r\n\r\ndata: ${odd}\n\ndata: ${odd}\n\n`, "array")).toBe(
      `[${renamed},\n${renamed},\n${renamed}]`,
    )
  })

  test("an empty stream is an empty array", () => {
    expect(pass("", "array")).toBe("[]")
    expect(pass(": ping\n\ndata: [DONE]\n\n", "array")).toBe("[]")
  })

  test("the relay omits frames that are not elements", () => {
    expect(pass(`: ping\n\nevent: x\ndata: ${odd}\n\n\n\ndata: [DONE]\n\n`, "array")).toBe(`[${renamed}]`)
  })

  test("the array ends in an error, with or without elements before it", () => {
    const end = (text: string) => {
      const relay = relayStream({ model: "a/b", reading: reading("array") })
      const passed = frames(text).map((frame) => relay.edit(frame))
      return JSON.parse(passed.join("") + relay.errorFrame(new GatewayError("overloaded", "x"), place))
    }
    expect(end("")).toMatchObject([
      { error: { code: 503, status: "UNAVAILABLE", details: [{ reason: "overloaded" }] } },
    ])
    expect(end(`data: ${odd}\n\n`)).toMatchObject([{ modelVersion: "a/b" }, { error: { code: 503 } }])
  })
})

/** As the exchange does it, in pieces cut at these places. */
function through(bytes: Uint8Array, cuts: readonly number[], framing: StreamFraming) {
  const relay = relayStream({ model: "a/b", reading: reading(framing) })
  const seen: StreamEvent[] = []
  const tee = new Tee<StreamEvent>({
    observer: relay.observer,
    edit: relay.edit,
    growth: { partOf: grownPartKey, mayVary: relay.mayVary, onAlike: () => {}, onText: () => {} },
    onEvent(event) {
      seen.push(event)
      return event.type === "stream-error" ? "stop-before" : "go-on"
    },
    onObserverFailure(cause) {
      throw cause
    },
  })
  const borders = [0, ...cuts, bytes.length]
  let passed = ""
  const keep = (piece: Uint8Array | undefined) => {
    if (piece) passed += toByteText(piece)
  }
  for (let at = 1; at < borders.length; at++) keep(tee.push(bytes.slice(borders[at - 1], borders[at])))
  keep(tee.finish())
  tee.conclude()
  const ended = seen.some(({ type }) => type === "stream-end")
  return {
    passed: passed + (ended ? relay.terminal() : ""),
    end: seen.at(-1)?.type,
    finish: assembleResponse(seen).candidates,
  }
}

const chunk = (text: string, more = "") =>
  `{"candidates":[{"content":{"parts":[{"text":"${text}"}],"role":"model"}${more}}],"modelVersion":"up"}`
const streams: Record<string, string> = {
  "with counts": [
    `{"modelVersion":"up","usageMetadata":{"promptTokenCount":1}}`,
    odd,
    chunk("ü", ',"finishReason":"STOP"'),
  ]
    .map((data) => `data: ${data}\r\n\r\n`)
    .join(""),
  "of events that are alike":
    [..."abcdef"].map((letter) => `data: ${chunk(letter)}\n\n`).join("") +
    `data: ${chunk(".", ',"finishReason":"STOP"')}\n\n`,
  "that is cut off": `data: ${chunk("a")}\n\n: note\n\ndata: ${chunk("b")}`,
  "that fails": `data: ${chunk("a")}\r\n\r\n{\n  "error": {\n    "code": 503,\n    "status": "UNAVAILABLE"\n  }\n}\n`,
}

describe.each(Object.keys(streams))("relaying a stream %s", (name) => {
  const bytes = fromByteText(encodeByteText(streams[name] ?? ""))

  test.each(["events", "array"] as const)("the stream passes the same wherever it is cut, as %s", (framing) => {
    const { passed, end } = through(bytes, [], framing)
    expect(passed).toContain('"modelVersion":"a/b"')
    expect(passed).not.toContain('"up"')
    if (framing === "array" && end === "stream-end") expect(JSON.parse(passed)).toBeArray()
    for (let first = 0; first <= bytes.length; first++) {
      expect(through(bytes, [first], framing)).toMatchObject({ passed, end: end ?? "" })
      const second = Math.min(bytes.length, first + 90)
      expect(through(bytes, [first, second], framing).passed).toBe(passed)
    }
    const every = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1)
    expect(through(bytes, every, framing)).toMatchObject({ passed, end: end ?? "" })
  })
})

test("events with any content pass unchanged, in both framings", () => {
  const value = fc.json({ maxDepth: 3 })
  const lines = fc.array(fc.tuple(fc.string(), value, fc.constantFrom("\n\n", "\r\n\r\n")), {
    minLength: 1,
    maxLength: 5,
  })
  fc.assert(
    fc.property(lines, fc.array(fc.nat(), { maxLength: 4 }), (events, places) => {
      const data = (model: string) =>
        events.map(([name, held]) => `{${JSON.stringify(`x${name}`)}: ${held},"modelVersion":"${model}"}`)
      const written = (model: string) => data(model).map((each, index) => `data: ${each}${events[index]?.[2]}`)
      const bytes = Buffer.from(written("up").join(""))
      const cuts = places.map((place) => place % bytes.length).toSorted((a, b) => a - b)
      const expected = (text: string) => Buffer.from(text).toString("latin1")
      expect(through(bytes, cuts, "events").passed).toBe(expected(written("a/b").join("")))
      expect(through(bytes, cuts, "array").passed).toBe(expected(`[${data("a/b").join(",\n")}`))
    }),
  )
})

describe("repetitive events with usage", () => {
  const counted = (text: string, tokens: number) =>
    `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}],"role":"model"},"index":0}],"usageMetadata":` +
    `{"promptTokenCount":7,"candidatesTokenCount":${tokens},"totalTokenCount":${tokens + 7}},"modelVersion":"up"}\n\n`

  for (const framing of ["events", "array"] as const) {
    test(`repetitive events pass unread as ${framing}, and the last count is known all the same`, () => {
      const relay = relayStream({ model: "a/b", reading: reading(framing) })
      const read: string[] = []
      const tee = new Tee<StreamEvent>({
        observer: {
          push(frame) {
            read.push(frame.raw)
            return relay.observer.push(frame)
          },
          finish: () => relay.observer.finish(),
        },
        edit: relay.edit,
        growth: {
          partOf: grownPartKey,
          mayVary: relay.mayVary,
          onAlike: (bytes) => relay.passedAlike?.(bytes),
          onText: () => {},
        },
        onEvent: () => "go-on",
        onObserverFailure(cause) {
          throw cause
        },
      })
      const words = ["a", "b", "c", "d", "e", "f"].map((word, index) => counted(word, index * 5))
      const passed = words.map((word) => toByteText(tee.push(fromByteText(word)) ?? new Uint8Array()))
      expect(read.length).toBeLessThan(5)
      expect(relay.usageAlike?.()).toEqual({ input: 7, output: 25 })
      const renamed = words.map((word) => word.replace('"up"', '"a/b"'))
      if (framing === "events") expect(passed).toEqual(renamed)
      else expect(JSON.parse(`${passed.join("")}]`)).toEqual(renamed.map((word) => JSON.parse(word.slice(6))))
      tee.push(fromByteText(counted("g", 40).replace('"index":0', '"finishReason":"STOP","index":0')))
      expect(relay.usageAlike?.()).toBeUndefined()
    })
  }
})
