// Recorded exchanges with the vendor through the codec, if available.
import { describe, expect, test } from "bun:test"
import { isDeepStrictEqual } from "node:util"
import { recordings, sampleSize, streamText, wholeText } from "../../../../test/recordings/recorded.ts"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { breaches, client, decoded, decodedStream, decoding, plain, upstream, written } from "./codec.fixture.ts"
import { geminiGenerateCodec } from "./codec.ts"

const { ingress, upstream: out } = geminiGenerateCodec
const all = [...recordings("generateContent"), ...recordings("streamGenerateContent")].filter(
  ({ status }) => status === 200,
)

const requests = all.flatMap(({ source, request }) => {
  const body = request?.body
  return isObject(body) && !(isObject(body.tools) && !Array.isArray(body.tools)) ? [{ source, body }] : []
})

const chunked = (body: Json): JsonObject[] => {
  const kept = Array.isArray(body) ? body : isObject(body) ? body.chunks : undefined
  return Array.isArray(kept) ? kept.map((each: Json) => (typeof each === "string" ? JSON.parse(each) : each)) : []
}

const streams = all.flatMap((recording) => {
  const kept = chunked(recording.response.body as Json)
  const text =
    kept.length > 0 ? kept.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("") : streamText(recording)
  return text === undefined ? [] : [{ source: recording.source, text }]
})

const answers = all.flatMap((recording) => {
  const text = Array.isArray(recording.response.body) ? undefined : wholeText(recording)
  const body: Json | undefined = text === undefined ? undefined : (recording.response.body as JsonObject)
  return isObject(body) && body.candidates ? [{ source: recording.source, body }] : []
})

describe("recorded exchanges", () => {
  test("every recorded request stays the same in its own protocol, without losses", () => {
    expect(requests.length).toBeGreaterThanOrEqual(sampleSize(80))
    const other = requests.flatMap(({ source, body }) => {
      const context = upstream()
      const again = out.encodeRequest(decoded(body), context)
      if (isDeepStrictEqual(plain(again), plain(body)) && context.losses.length === 0) return []
      return [{ source, losses: context.losses, again: JSON.stringify(plain(again)), was: JSON.stringify(plain(body)) }]
    })
    expect(other).toEqual([])
  })

  test("every recorded response stays the same in its own protocol, except for its names", () => {
    expect(answers.length).toBeGreaterThanOrEqual(sampleSize(80))
    for (const { source, body } of answers) {
      const canonical = out.decodeResponse(body, { ...decoding, minter: "gemini-generate" })
      const again = canonical && ingress.encodeResponse(canonical, client())
      expect([source, again && contents(again)]).toEqual([source, contents(body)])
      expect(Object.keys(canonical?.usage ?? {})).not.toEqual([])
    }
  })

  test("every recorded stream, encoded again, is valid and equivalent", () => {
    expect(streams.length).toBeGreaterThanOrEqual(sampleSize(20))
    for (const { source, text } of streams) {
      const events = decodedStream(text, { ...decoding, minter: "gemini-generate" })
      const frames = written(events, client())
      expect([source, breaches(frames)]).toEqual([source, []])
      const again = decodedStream(frames.join(""), { ...decoding, minter: "gemini-generate" })
      // The signature of a text that has left follows it in a part of its own.
      const expected = JSON.stringify(assembleResponse(events).candidates).replaceAll('"data":"@', '"data":"')
      expect(JSON.stringify(assembleResponse(again).candidates)).toBe(expected)
      expect(assembleResponse(again).usage).toEqual(assembleResponse(events).usage as never)
    }
  })
})

/** Its candidates without call ids, because the codec generates missing ones. */
function contents({ candidates }: JsonObject): unknown {
  const text = JSON.stringify(candidates, (name, value) => {
    if (name === "functionCall" || name === "executableCode" || name === "codeExecutionResult") {
      const { id: _, ...others } = value
      return { ...(name === "functionCall" && { args: {} }), ...others }
    }
    return name === "index" && value === 0 ? undefined : value
  })
  return (JSON.parse(text) as JsonObject[]).map(({ content, ...others }) => {
    const parts = isObject(content) && Array.isArray(content.parts) ? content.parts : []
    return {
      ...others,
      content: { parts: parts.filter((part: Json) => JSON.stringify(part) !== '{"text":""}'), role: "model" },
    }
  })
}
