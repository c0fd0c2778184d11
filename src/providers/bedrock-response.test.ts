import { describe, expect, test } from "bun:test"
import { encodeEventMessage } from "../transport/streams/aws-event-stream.fixture.ts"
import { TransportError } from "../transport/transport-error.ts"
import { toAnthropicResponse, toConverseResponse } from "./bedrock-response.ts"

const EVENT = { ":event-type": "chunk", ":message-type": "event" }
const frameEvent = (event: string) =>
  encodeEventMessage(EVENT, JSON.stringify({ bytes: Buffer.from(event).toString("base64") }))

async function reframeAsAnthropic(body: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> {
  const headers = { "content-type": "application/vnd.amazon.eventstream" }
  const response = await toAnthropicResponse(new Response(body, { headers }), { counts: false })
  if (!response.body) throw new Error("an answer has a body")
  return response.body as ReadableStream<Uint8Array>
}

/** An endless sequence of frames that counts the reads and records the cancellation. */
function endless() {
  const seen = { pulls: 0, cancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.pulls++
        controller.enqueue(frameEvent(`{"type":"ping","n":${seen.pulls}}`))
      },
      cancel() {
        seen.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, seen }
}

describe("a framed stream", () => {
  test("a framed stream is read no faster than its consumer pulls", async () => {
    const { body, seen } = endless()
    const reader = (await reframeAsAnthropic(body)).getReader()
    await Bun.sleep(20)
    expect(seen.pulls).toBeLessThan(2)
    for (let read = 0; read < 5; read++) await reader.read()
    await Bun.sleep(20)
    expect(seen.pulls).toBeLessThan(8)
  })

  test("a framed stream closes the upstream when its reader cancels", async () => {
    const { body, seen } = endless()
    const reader = (await reframeAsAnthropic(body)).getReader()
    await reader.read()
    await reader.cancel()
    expect(seen.cancelled).toBe(true)
  })

  test("a framed stream relays an event's bytes after a line with its type, wherever the type is written", async () => {
    const events = ['{"type":"ping"}', '{"index":0,"type":"content_block_stop","t":"Grüße \\n"}', '{"other":1}']
    const body = await reframeAsAnthropic(
      new Response(Buffer.concat(events.map(frameEvent))).body ?? new ReadableStream(),
    )
    expect(await new Response(body).text()).toBe(
      `event: ping\ndata: ${events[0]}\n\nevent: content_block_stop\ndata: ${events[1]}\n\n` +
        `event: message\ndata: ${events[2]}\n\n`,
    )
  })

  test("a stream with a broken frame fails like a broken connection, after the events before it", async () => {
    const broken = frameEvent('{"type":"message_stop"}')
    broken.writeUInt32BE(0, broken.length - 4)
    const sent = Buffer.concat([frameEvent('{"type":"ping"}'), broken])
    const reader = (await reframeAsAnthropic(new Response(sent).body ?? new ReadableStream())).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('event: ping\ndata: {"type":"ping"}\n\n')
    expect(reader.read()).rejects.toBeInstanceOf(TransportError)
  })
})

describe("a Converse response", () => {
  const headers = { "content-type": "application/vnd.amazon.eventstream" }
  const message = (type: string, payload: string) =>
    encodeEventMessage({ ":event-type": type, ":message-type": "event" }, payload)

  test("Converse stream events have their name on the event line and unchanged bytes", async () => {
    const payload = '{"contentBlockIndex":0,"delta":{"text":"Grüße \\n"},"p":"abc"}'
    const frames = [message("contentBlockDelta", payload), message("two\nlines", "{}"), message("metadata", "{}")]
    const response = await toConverseResponse(new Response(Buffer.concat(frames), { headers }))
    expect(await new Response(response.body as ReadableStream).text()).toBe(
      `event: contentBlockDelta\ndata: ${payload}\n\nevent: metadata\ndata: {}\n\n`,
    )
  })

  test("a Converse stream that fails names the exception in the event", async () => {
    const exception = { ":message-type": "exception", ":exception-type": "throttlingException" }
    const broken = { ":message-type": "error", ":error-code": "InternalFailure", ":error-message": "Oh." }
    const frames = [
      encodeEventMessage(exception, '{"message":"Langsam, bitte: Grüße."}'),
      encodeEventMessage(broken, ""),
    ]
    const response = await toConverseResponse(new Response(Buffer.concat(frames), { headers }))
    expect(await new Response(response.body as ReadableStream).text()).toBe(
      'event: error\ndata: {"__type":"throttlingException","message":"Langsam, bitte: Grüße."}\n\n' +
        'event: error\ndata: {"__type":"InternalFailure","message":"Oh."}\n\n',
    )
  })

  test("a Converse error names the exception in its body", async () => {
    const refused = Response.json(
      { message: "Slow." },
      { status: 429, headers: { "x-amzn-errortype": "ThrottlingException:http://x/", "retry-after": "3" } },
    )
    const response = await toConverseResponse(refused)
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "3"])
    expect(await (response as Response).json()).toEqual({ __type: "ThrottlingException", message: "Slow." })
  })

  test("a whole Converse response is not changed", async () => {
    const response = Response.json({ output: {} })
    expect(await toConverseResponse(response)).toBe(response)
  })
})
