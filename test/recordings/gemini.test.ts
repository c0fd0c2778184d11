// Recorded Gemini exchanges, of its own host and of Vertex, through relay, decoding and counting.
import { expect, test } from "bun:test"
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import type { StreamEvent } from "../../src/canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"
import { totalTokens } from "../../src/canonical/usage.ts"
import { geminiGenerate } from "../../src/protocols/chat/gemini-generate/gemini-generate.ts"
import { decodeUsage } from "../../src/protocols/chat/gemini-generate/usage.ts"
import { encodeByteText } from "../../src/transport/json/byte-text.ts"
import { outlineJson } from "../../src/transport/json/json-scan.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { recordings, sampleSize } from "./recorded.ts"

const answers = recordings("generateContent")
const counted = recordings("countTokens")
const streamed = recordings("streamGenerateContent")
const all = [...answers, ...counted, ...streamed]
const good = all.filter(({ status }) => status === 200)

/** Some streams were recorded as events only, some in array form. */
function chunksOf({ body }: { readonly body: Json }): JsonObject[] | undefined {
  const kept = Array.isArray(body) ? body : isObject(body) ? body.chunks : undefined
  if (!Array.isArray(kept)) return undefined
  return kept.map((chunk: Json) => (typeof chunk === "string" ? JSON.parse(chunk) : chunk))
}

const streams = good.flatMap(({ source, response }) => {
  if (typeof response.body === "string") return [{ source, text: encodeByteText(response.body) }]
  const chunks = chunksOf(response)
  const text = chunks?.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("")
  return text === undefined ? [] : [{ source, text: encodeByteText(text) }]
})

const unary = good.flatMap(({ source, response }) => {
  const { body } = response
  return isObject(body) && !body.chunks ? [{ source, body, text: encodeByteText(JSON.stringify(body, null, 2)) }] : []
})

function reading(operation: string, framing: "events" | "array" = "events") {
  const envelope = { does: "generate", rest: `models/a/b:${operation}`, headers: {} } as const
  const body = { contents: [{ parts: [] }] }
  return geminiGenerate.readRequest(body, { ...envelope, query: framing === "events" ? "alt=sse" : "" })
}

function relay(text: string, framing: "events" | "array"): string {
  const { edit, terminal } = geminiGenerate.relayStream({
    model: "a/b",
    reading: reading("streamGenerateContent", framing),
  })
  const sse = decodeSse()
  return [...sse.push(text), ...sse.finish()].map((frame) => edit(frame)).join("") + terminal()
}

function decode(pieces: readonly string[]): StreamEvent[] {
  const sse = decodeSse()
  const { observer } = geminiGenerate.relayStream({ model: "a/b", reading: reading("streamGenerateContent") })
  const frames = [...pieces.flatMap((piece) => sse.push(piece)), ...sse.finish()]
  return [...frames.flatMap((frame) => observer.push(frame)), ...observer.finish()]
}

const bare = (json: string) => json.replace(/"modelVersion":\s*"[^"]*"/g, '"modelVersion":""').trim()

/** Members that the vendor accepts and the gateway rejects, by the specification or because accounts are shared. */
const OURS = /names an object of the provider's account|`tools` must be an array/

test("every recorded request that the vendor accepted passes the gateway's checks", () => {
  expect(good.length).toBeGreaterThanOrEqual(sampleSize(100))
  const refused = good.flatMap(({ source, request }) => {
    const { url, body } = request ?? {}
    const [path = "", query = ""] = (url ?? "").split("?")
    const [, rest] = /\/(?:v1beta1|v1beta)\/(.*)$/.exec(path) ?? []
    if (rest === undefined || !body) return []
    try {
      const { model } = geminiGenerate.readRequest(body, { does: "generate", rest, query, headers: {} })
      return model.includes("models/") ? [`${source}: ${model}`] : []
    } catch (error) {
      return OURS.test(String(error)) ? [] : [`${source}: ${error}`]
    }
  })
  expect(refused).toEqual([])
})

test("every recorded stream is read to its end", () => {
  expect(streams.length).toBeGreaterThanOrEqual(sampleSize(20))
  for (const { source, text } of streams) {
    const events = decode([text])
    expect([source, events.at(-1)?.type]).toEqual([source, "stream-end"])
    expect(assembleResponse(events).candidates[0]?.finish?.word).toBeString()
  }
})

test("every recorded stream passes with only the model changed, as events and as an array", () => {
  for (const { source, text } of streams) {
    expect([source, bare(relay(text, "events"))]).toEqual([source, bare(text)])
    const data = text.match(/(?<=^data: ).*$/gm) ?? []
    expect(bare(relay(text, "array"))).toBe(bare(`[${data.map((line) => line.trimEnd()).join(",\n")}]`))
  }
})

test("every recorded stream is read alike at any cut of its bytes", () => {
  for (const { text } of streams) {
    const whole = JSON.stringify(decode([text]))
    for (const size of [1, 7, 100]) {
      expect(JSON.stringify(decode(text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []))).toBe(whole)
    }
  }
})

test("every recorded answer passes with only the model changed", () => {
  expect(unary.length).toBeGreaterThanOrEqual(sampleSize(90))
  for (const { source, body, text } of unary) {
    const operation = body.totalTokens === undefined ? "generateContent" : "countTokens"
    const outlined = outlineJson(text)
    const passed =
      outlined && geminiGenerate.relayResponse(text, outlined, { model: "a/b", reading: reading(operation) })
    expect([source, passed && bare(passed.text)]).toEqual([source, bare(text)])
    if (operation === "generateContent") expect(passed?.usage).toBeDefined()
  }
})

test("the buckets of every recorded usage add up to its total", () => {
  const chunks = streams.flatMap(({ source, text }) =>
    (text.match(/(?<=^data: ).*$/gm) ?? []).map((line) => ({ source, body: JSON.parse(line) as JsonObject })),
  )
  let seen = 0
  const wrong = [...unary, ...chunks].flatMap(({ source, body: { usageMetadata } }) => {
    if (!isObject(usageMetadata) || usageMetadata.totalTokenCount === undefined) return []
    seen++
    const total = totalTokens(decodeUsage(usageMetadata) ?? {})
    return total === usageMetadata.totalTokenCount ? [] : [`${source}: ${JSON.stringify(usageMetadata)}`]
  })
  expect(wrong).toEqual([])
  expect(seen).toBeGreaterThanOrEqual(sampleSize(150))
})

test("every recorded error gets its right code", () => {
  const bad = all.filter(({ status }) => status >= 400)
  expect(bad.length).toBeGreaterThanOrEqual(sampleSize(3))
  const codes: Record<number, string> = {
    400: "invalid_parameter",
    404: "upstream_unavailable",
    429: "upstream_rate_limited",
  }
  for (const { status, response } of bad) {
    const error = geminiGenerate.decodeError({ status, body: JSON.stringify(response.body) })
    expect<string>(error.code).toBe(codes[status] ?? "none")
  }
})
