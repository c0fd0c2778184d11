// Streams that fail after they started, read by Anthropic's own client library: it delivers the text so far and raises
// its own error, and never reports a complete message.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type Anthropic from "@anthropic-ai/sdk"
import { anthropicEvent, anthropicHalf, anthropicMessage, anthropicWords } from "../stage/anthropic-wire.ts"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { countReportedAttempts } from "../stage/reported-attempts.ts"
import { ScriptedUpstream, streams, streamsThen, type UpstreamScript } from "../stage/upstream.ts"
import { ANTHROPIC_VERSIONS, hello, textOf } from "./anthropic-versions.ts"

const HI = hello("test/model")
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: vendorsConfig(upstream.origin, "", ["anthropic-like"]) })
})
beforeEach(() => {
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const half = anthropicHalf("The quick")
const blockEnd = anthropicEvent("content_block_stop", { index: 0 })
const overloaded = anthropicEvent("error", { error: { type: "overloaded_error", message: "Overloaded" } })
const failed = anthropicEvent("error", { error: { type: "api_error", message: "Internal server error" } })

const FAILURES: readonly [string, UpstreamScript][] = [
  ["whose connection is reset", streamsThen(half, (reply) => reply.cut("reset"))],
  ["whose connection is closed", streamsThen(half, (reply) => reply.cut("fin"))],
  ["that ends within its block", streamsThen(half, (reply) => reply.end())],
  ["that ends after its block", streamsThen([...half, blockEnd], (reply) => reply.end())],
  ["that ends within an event", streamsThen([...half, "event: content_block_de"], (reply) => reply.end())],
  ["that goes on with an overload", streams([...half, overloaded])],
  ["that goes on with an error of the vendor's", streams([...half, failed])],
  [
    "that goes on with an error and then as if nothing were",
    streams([...half, failed, blockEnd, anthropicEvent("message_stop")]),
  ],
  ["that goes on with rubbish", streams([...half, "event: content_block_delta\ndata: {rubbish\n\n"])],
  ["that goes on with a web page", streams([...half, "<html><body>502 Bad Gateway</body></html>"])],
]

for (const version of ANTHROPIC_VERSIONS) {
  describe(version.name, () => {
    let client: Anthropic
    beforeAll(() => {
      client = new version.Anthropic({ apiKey: gateway.key, baseURL: `${gateway.url}/anthropic` })
    })

    describe("a stream", () => {
      for (const [what, script] of FAILURES) {
        test(`a stream ${what} raises an APIError after the text that arrived`, async () => {
          upstream.script = script
          let text = ""
          const types: string[] = []
          const reading = (async () => {
            for await (const event of await client.messages.create({ ...HI, stream: true })) {
              types.push(event.type)
              if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text
            }
          })()
          const error = await rejectionOf(reading)
          expect(error).toBeInstanceOf(version.Anthropic.APIError)
          expect(error).toMatchObject({
            type: "overloaded_error",
            error: { type: "error", error: { code: "upstream_unavailable", type: "overloaded_error" } },
          })
          expect(text).toBe("The quick")
          expect(types).not.toContain("message_stop")
          expect(upstream.requests).toHaveLength(1)
        })

        test(`a stream ${what} makes the stream helper's final message fail`, async () => {
          upstream.script = script
          const pieces: string[] = []
          const stream = client.messages.stream(HI).on("text", (piece) => pieces.push(piece))
          expect(await rejectionOf(stream.finalMessage())).toBeInstanceOf(version.Anthropic.APIError)
          expect(pieces).toEqual(["The", " quick"])
        })
      }

      test("a stream that fails reports its request id", async () => {
        upstream.script = streams([...half, failed])
        const error = await rejectionOf(client.messages.stream(HI).finalMessage())
        if (!(error instanceof version.Anthropic.APIError)) throw error
        expect(error.requestID).toMatch(/\S/)
        expect(error.error).toMatchObject({ request_id: error.requestID })
      })

      test("a stream that fails during a tool call raises an error and returns no call", async () => {
        const call = { type: "tool_use", id: "toolu_01", name: "get_weather", input: {} }
        const input = { type: "input_json_delta", partial_json: '{"city":"Os' }
        upstream.script = streamsThen(
          [
            ...half,
            blockEnd,
            anthropicEvent("content_block_start", { index: 1, content_block: call }),
            anthropicEvent("content_block_delta", { index: 1, delta: input }),
          ],
          (reply) => reply.cut("reset"),
        )
        const stream = client.messages.stream(HI)
        const blocks: string[] = []
        stream.on("contentBlock", ({ type }) => blocks.push(type))
        expect(await rejectionOf(stream.finalMessage())).toBeInstanceOf(version.Anthropic.APIError)
        expect(blocks).toEqual(["text"])
      })

      const early: readonly [string, UpstreamScript][] = [
        ["with its first event", streams([overloaded])],
        ["after its opener", streams([...anthropicWords("").slice(0, 1), overloaded])],
        ["by ending after its opener", streams(anthropicWords("").slice(0, 2))],
        ["with a status", (_, reply) => reply.json({ type: "error", error: { type: "overloaded_error" } }, 529)],
      ]
      for (const [what, script] of early) {
        test(`a stream that fails ${what} raises an InternalServerError before the stream starts`, async () => {
          upstream.script = script
          const error = await rejectionOf(client.messages.create({ ...HI, stream: true }))
          expect(error).toBeInstanceOf(version.Anthropic.InternalServerError)
          expect(error).toMatchObject({ status: 503, error: { error: { code: "upstream_unavailable" } } })
          expect(upstream.requests).toHaveLength(countReportedAttempts((error as { error?: unknown }).error))
        })
      }

      test("a stream that lacks only the terminal event after its stop reason is complete", async () => {
        upstream.script = streams(anthropicWords("The quick").slice(0, -1))
        const message = await client.messages.stream(HI).finalMessage()
        expect(textOf(message)).toBe("The quick")
        expect(message.stop_reason).toBe("end_turn")
      })
    })

    describe("a unary answer", () => {
      const broken: readonly [string, UpstreamScript][] = [
        ["that breaks off", (_, reply) => reply.raw('{"id":"msg_01", "ty', { "content-length": "100" })],
        ["that is no JSON", (_, reply) => reply.raw("<html>", { "content-type": "text/html" })],
        ["that is no message", (_, reply) => reply.json({ id: "chatcmpl-abc123", object: "chat.completion" })],
      ]
      for (const [what, script] of broken) {
        test(`a unary answer ${what} raises an InternalServerError`, async () => {
          upstream.script = (request, reply) => {
            void script(request, reply)
            if (what === "that breaks off") setTimeout(() => reply.cut("reset"), 20)
          }
          const error = await rejectionOf(client.messages.create(HI))
          expect(error).toBeInstanceOf(version.Anthropic.InternalServerError)
          expect(error).toMatchObject({ status: 503 })
        })
      }

      test("a unary answer is relayed unchanged", async () => {
        upstream.script = (_, reply) => reply.json(anthropicMessage("Hello.", { x_new: [1] }))
        const { _request_id: _, ...message } = await client.messages.create(HI)
        expect(message).toMatchObject({ ...anthropicMessage("Hello.", { x_new: [1] }), model: "test/model" })
      })
    })
  })
}
