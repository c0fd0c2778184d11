// Streams that fail after they started, read by Google's own client library. The protocol has no terminal event, so a
// clean end is read as success: the client delivers the text so far, then raises its own error.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type { GoogleGenAI } from "@google/genai"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { geminiEvent, geminiHalf, geminiResponse, geminiWords } from "../stage/gemini-wire.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { countReportedAttempts } from "../stage/reported-attempts.ts"
import { ScriptedUpstream, streams, streamsThen, type UpstreamScript } from "../stage/upstream.ts"
import { errorDetails, GENAI_VERSIONS } from "./genai-versions.ts"

const HI = { model: "test/model", contents: "hi" }
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: vendorsConfig(upstream.origin, "", ["gemini-like"]) })
})
beforeEach(() => {
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const half = geminiHalf("The quick")
const unavailable = { error: { code: 503, message: "The model is overloaded. 4711", status: "UNAVAILABLE" } }

/** Sent separately: the client reads no error among other bytes. */
const goesOnWith = (text: string): UpstreamScript =>
  streamsThen(half, async (reply) => {
    await reply.write(text)
    reply.end()
  })

const FAILURES: readonly [string, UpstreamScript][] = [
  ["whose connection is reset", streamsThen(half, (reply) => reply.cut("reset"))],
  ["whose connection is closed", streamsThen(half, (reply) => reply.cut("fin"))],
  ["that ends before it is finished", streamsThen(half, (reply) => reply.end())],
  ["that ends so in one piece", streamsThen([half.join("")], (reply) => reply.end())],
  ["that ends within an event", goesOnWith('data: {"candidates": [{"con')],
  ["that goes on with the vendor's error", goesOnWith(JSON.stringify(unavailable))],
  ["that goes on with the vendor's error in an array", goesOnWith(JSON.stringify([unavailable]))],
  ["that goes on with an error as an event", goesOnWith(geminiEvent(unavailable))],
  ["that goes on with rubbish", goesOnWith("data: {rubbish\r\n\r\n")],
]

for (const version of GENAI_VERSIONS) {
  describe(version.name, () => {
    let client: GoogleGenAI
    beforeAll(() => {
      const httpOptions = { baseUrl: `${gateway.url}/gemini` }
      client = new version.GoogleGenAI({ apiKey: gateway.key, httpOptions })
    })

    describe("a stream", () => {
      test("a stream with a clean end is complete", async () => {
        upstream.script = streams(geminiWords("The quick brown fox"))
        let text = ""
        for await (const chunk of await client.models.generateContentStream(HI)) text += chunk.text ?? ""
        expect(text).toBe("The quick brown fox")
        expect(upstream.lastRequest().path).toBe("/v1beta/models/upstream-model:streamGenerateContent?alt=sse")
      })

      test("a stream that other hosts end differently is complete as well", async () => {
        upstream.script = streams([": a comment\n\n", ...geminiWords("The quick"), "data: [DONE]\n\n"])
        let text = ""
        for await (const chunk of await client.models.generateContentStream(HI)) text += chunk.text ?? ""
        expect(text).toBe("The quick")
      })

      for (const [what, script] of FAILURES) {
        test(`a stream ${what} raises an ApiError after the text that arrived`, async () => {
          upstream.script = script
          let text = ""
          const reading = (async () => {
            for await (const chunk of await client.models.generateContentStream(HI)) text += chunk.text ?? ""
          })()
          const error = await rejectionOf(reading)
          expect(error).toBeInstanceOf(version.ApiError)
          expect(error).toMatchObject({ status: 503 })
          expect(JSON.stringify(errorDetails(error))).not.toContain("4711")
          expect(errorDetails(error)).toMatchObject({
            code: "upstream_unavailable",
            status: "UNAVAILABLE",
            details: [{ reason: "upstream_unavailable" }],
          })
          expect(text).toBe("The quick")
          expect(upstream.requests).toHaveLength(1)
        })
      }

      test("a failed stream leaves no answer in a chat's history", async () => {
        upstream.script = streamsThen(half, (reply) => reply.cut("reset"))
        const chat = client.chats.create({ model: "test/model" })
        const reading = (async () => {
          for await (const _ of await chat.sendMessageStream({ message: "hi" }));
        })()
        expect(await rejectionOf(reading)).toBeInstanceOf(version.ApiError)
        expect(chat.getHistory(true)).toEqual([])
      })

      const atOnce: readonly [string, UpstreamScript][] = [
        ["right after its text", streams([...half, JSON.stringify(unavailable)])],
        ["in one piece with its text", streams([half.join("") + JSON.stringify(unavailable)])],
      ]
      for (const [what, script] of atOnce) {
        test(`a stream that fails ${what}, read late, raises an error and loses no text`, async () => {
          upstream.script = script
          const stream = await client.models.generateContentStream(HI)
          await Bun.sleep(300)
          let text = ""
          const reading = (async () => {
            for await (const chunk of stream) text += chunk.text ?? ""
          })()
          // If both arrive in one read, it cannot recognise the error as the API's, only as an error.
          expect(await rejectionOf(reading)).toBeInstanceOf(Error)
          expect(text).toBe("The quick")
        })
      }

      const early: readonly [string, UpstreamScript][] = [
        ["with its first event", streams([geminiEvent(unavailable)])],
        ["with its first bytes", streams([JSON.stringify(unavailable)])],
        ["by ending at once", streams([])],
        ["with a status", (_, reply) => reply.json([unavailable], 503)],
      ]
      for (const [what, script] of early) {
        test(`a stream that fails ${what} raises an ApiError of status 503 before the stream starts`, async () => {
          upstream.script = script
          const error = await rejectionOf(client.models.generateContentStream(HI))
          expect(error).toBeInstanceOf(version.ApiError)
          expect(error).toMatchObject({ status: 503 })
          expect(errorDetails(error)).toMatchObject({ code: "upstream_unavailable", status: "UNAVAILABLE" })
          expect(upstream.requests).toHaveLength(countReportedAttempts(errorDetails(error)))
        })
      }
    })
  })
}

describe("a stream in array form", () => {
  const ask = async () => {
    const response = await fetch(`${gateway.url}/gemini/v1beta/models/test/model:streamGenerateContent`, {
      method: "POST",
      headers: { "x-goog-api-key": gateway.key, "content-type": "application/json" },
      body: JSON.stringify({ contents: [{ parts: [{ text: "hi" }] }] }),
    })
    expect(response.status).toBe(200)
    return JSON.parse(await response.text())
  }

  test("an array with a clean end holds the whole answer", async () => {
    upstream.script = streams(geminiWords("The quick"))
    expect(await ask()).toEqual([
      { ...geminiResponse("The"), modelVersion: "test/model" },
      { ...geminiResponse(" quick", "STOP"), modelVersion: "test/model" },
    ])
  })

  for (const [what, script] of FAILURES) {
    test(`an array of a stream ${what} ends in the error and is still an array`, async () => {
      upstream.script = script
      const elements = await ask()
      expect(elements).toHaveLength(3)
      expect(elements.at(-1)).toMatchObject({
        error: { code: 503, status: "UNAVAILABLE", details: [{ reason: "upstream_unavailable" }] },
      })
    })
  }
})
