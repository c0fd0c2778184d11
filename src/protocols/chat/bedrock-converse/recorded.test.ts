// Recorded exchanges with the vendor through the codec, if available.
import { describe, expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { type RecordedExchange, recordings, sampleSize } from "../../../../test/recordings/recorded.ts"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../canonical/chat/chat-response.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { totalTokens } from "../../../canonical/usage.ts"
import { decodeEventStream } from "../../../transport/streams/aws-event-stream.ts"
import { decodedStream, decoding, streamText } from "./codec.fixture.ts"
import { bedrockConverseCodec } from "./codec.ts"
import { breaches } from "./request-rules.fixture.ts"

const all = [...recordings("converse"), ...recordings("converse-stream")]
const answered = all.filter(({ status }) => status === 200)

/** The events of a streamed response; undefined for a whole one. */
function eventsOf({ response }: RecordedExchange): string | undefined {
  const body: Json = response.body as Json
  if (!isObject(body)) return undefined
  if (typeof body.base64 === "string") {
    const messages = decodeEventStream().push(Buffer.from(body.base64, "base64"))
    return streamText(
      messages.map(({ headers, payload }) => [
        headers[":event-type"] ?? "",
        JSON.parse(Buffer.from(payload).toString()),
      ]),
    )
  }
  if (!Array.isArray(body.chunks)) return undefined
  return streamText(body.chunks.flatMap((chunk: Json) => (isObject(chunk) ? Object.entries(chunk) : [])) as never)
}

const streams = answered.flatMap((each) => {
  const text = eventsOf(each)
  return text === undefined ? [] : [{ ...each, text }]
})
const wholes = answered.flatMap((each) => {
  const body = each.response.body as JsonObject
  return isObject(body.output) ? [{ ...each, body }] : []
})

const totalOf = (usage: Json | undefined) => (isObject(usage) ? usage.totalTokens : undefined)

describe("recorded exchanges", () => {
  test("every recorded request follows the rules that encoded requests are checked against", () => {
    const requests = answered.flatMap(({ source, request }) => (request?.body ? [{ source, body: request.body }] : []))
    expect(requests.length).toBeGreaterThanOrEqual(sampleSize(30))
    const odd = requests.flatMap(({ source, body }) => breaches(body).map((breach) => `${source}: ${breach}`))
    expect(odd).toEqual([])
  })

  test("every recorded response is decoded without foreign parts, and its tokens add up", () => {
    expect(wholes.length).toBeGreaterThanOrEqual(sampleSize(30))
    for (const { source, body } of wholes) {
      const response = bedrockConverseCodec.decodeResponse(body, decoding)
      const [candidate] = response?.candidates ?? []
      expect([source, candidate?.parts.filter(({ kind }) => kind === "foreign")]).toEqual([source, []])
      expect([source, candidate?.finish?.reason === "other"]).toEqual([source, false])
      expect(candidate?.parts.length).toBeGreaterThan(0)
      if (totalOf(body.usage) !== undefined)
        expect(totalTokens(response?.usage ?? {})).toBe(totalOf(body.usage) as number)
      expect(response?.extra).toBeUndefined()
    }
  })

  test("every recorded stream is decoded completely", () => {
    expect(streams.length).toBeGreaterThanOrEqual(sampleSize(15))
    for (const { source, text } of streams) {
      const events = decodedStream([text])
      expect([source, events[0]?.type, events.at(-1)?.type]).toEqual([source, "stream-start", "stream-end"])
      const [candidate] = assembleResponse(events).candidates
      expect([source, candidate?.parts.length === 0]).toEqual([source, false])
      expect(candidate?.parts.filter(({ kind }) => kind === "foreign")).toEqual([])
      expect(candidate?.finish?.reason).not.toBe("other")
    }
  })

  test("every recorded stream decodes to the same when cut at any byte", () => {
    for (const { text } of streams) {
      const whole = JSON.stringify(assembleResponse(decodedStream([text])))
      expect(JSON.stringify(assembleResponse(decodedStream([...text])))).toBe(whole)
    }
  })

  test("every recorded stream equals the whole response recorded with it", () => {
    const both = streams.flatMap((stream) => {
      const whole = wholes.find(({ source }) => source === stream.source.replace(/\.chunks\.txt$/, ".json"))
      return whole ? [{ stream, whole }] : []
    })
    expect(both.length).toBeGreaterThanOrEqual(sampleSize(5))
    for (const { stream, whole } of both) {
      const response = bedrockConverseCodec.decodeResponse(whole.body, decoding)
      const streamed = assembleResponse(decodedStream([stream.text]))
      expect([stream.source, kinds(streamed.candidates)]).toEqual([stream.source, kinds(response?.candidates)])
    }
  })
})

/** Two responses to the same question differ only in their text. */
function kinds(candidates: ChatResponse["candidates"] = []) {
  return candidates.map(({ parts, finish }) => ({ parts: parts.map(({ kind }) => kind), finish }))
}
