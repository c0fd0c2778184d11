// Bedrock's Converse over real sockets: the codec's requests at the provider's endpoint, and the decoded frames.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import type { ChatRequest } from "../../src/canonical/chat/chat-request.ts"
import type { StreamEvent } from "../../src/canonical/chat/stream-event.ts"
import type { Losses } from "../../src/canonical/loss.ts"
import { Secret } from "../../src/config/secret.ts"
import { bedrockConverseCodec } from "../../src/protocols/chat/bedrock-converse/codec.ts"
import { bedrock } from "../../src/providers/bedrock.ts"
import { openAccounts } from "../../src/providers/open-account.ts"
import { Abort } from "../../src/transport/abort.ts"
import { httpSend } from "../../src/transport/http-client.ts"
import { toByteText } from "../../src/transport/json/byte-text.ts"
import { readAll } from "../../src/transport/read-all.ts"
import { retryAfterMs } from "../../src/transport/retry-after.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { type RecordedExchange, recordings, sampleSize } from "../recordings/recorded.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { converseEvent, FRAMED, framedException, refuse, signatureFault } from "./aws.ts"

const credential = { accessKeyId: "AKIDTESTTESTTEST", secretAccessKey: "test/secret+access/key" }
const MODEL = "us.amazon.nova-2-lite-v1:0"
const context = { id: "abcdefghijklmnopqrstuvwx", minter: "bedrock" }

let upstream: ScriptedUpstream
let faults: (string | undefined)[] = []

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
})
afterAll(() => upstream.stop())
beforeEach(() => {
  faults = []
})

/** Answers by this script, and notes what is wrong with each signature. */
function answer(script: UpstreamScript): void {
  upstream.script = (request, reply) => {
    if (request.headers.authorization?.startsWith("AWS4")) faults.push(signatureFault(request, credential))
    return script(request, reply)
  }
}

const signed = {
  accessKeyId: new Secret(credential.accessKeyId),
  secretAccessKey: new Secret(credential.secretAccessKey),
}

const hello: ChatRequest = {
  ...{ model: "a/b", instructions: [], tools: [], settings: { maxOutputTokens: 50 }, stream: false },
  routing: { fallback: [] },
  turns: [{ role: "user", parts: [{ kind: "text", text: "Grüß Gott" }] }],
}

/** Sends a request as the lane does. */
async function call({ stream = false, proof = signed as object } = {}) {
  const settings = { id: "bedrock", region: "eu-west-1", baseUrl: upstream.origin, ...proof }
  const endpoint = openAccounts(bedrock, { ...settings, send: httpSend })[0]?.endpoints["bedrock-converse"]
  if (!endpoint) throw new Error("Bedrock speaks Converse")
  const losses: Losses = []
  const { path, headers } = bedrockConverseCodec.operationFor(MODEL, stream)
  const encoded = bedrockConverseCodec.encodeRequest(hello, {
    ...{
      model: MODEL,
      stream,
      streamUsage: endpoint.streamUsage,
      minter: "bedrock",
      maxOutputTokens: 100,
      reasons: true,
    },
    losses,
  })
  const body = Buffer.from(JSON.stringify(encoded))
  return endpoint.send({
    url: endpoint.baseUrl + path,
    headers: endpoint.headersWith(headers),
    body,
    abort: new Abort(),
  })
}

async function whole(options: Parameters<typeof call>[0] = {}) {
  const response = await call(options)
  const body = Buffer.from(await readAll(response, 100_000)).toString()
  if (response.ok) return bedrockConverseCodec.decodeResponse(JSON.parse(body), context)
  throw bedrockConverseCodec.decodeError({
    status: response.status,
    retryAfterMs: retryAfterMs(response.headers),
    body,
  })
}

async function streamed(): Promise<StreamEvent[]> {
  const response = await call({ stream: true })
  expect(response.headers.get("content-type")).toBe("text/event-stream")
  const sse = decodeSse()
  const decoder = bedrockConverseCodec.decodeStream(context)
  const events: StreamEvent[] = []
  const reader = response.body?.getReader()
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    for (const frame of sse.push(toByteText(read.value))) events.push(...decoder.push(frame))
  }
  return [...events, ...decoder.finish()]
}

const answerBody = (text: string) => ({
  output: { message: { role: "assistant", content: [{ text }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
})

const textFrames = (...words: readonly string[]): Buffer[] => [
  converseEvent("messageStart", { role: "assistant" }),
  ...words.map((text) => converseEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text } })),
]
const over: readonly Buffer[] = [
  converseEvent("contentBlockStop", { contentBlockIndex: 0 }),
  converseEvent("messageStop", { stopReason: "end_turn" }),
  converseEvent("metadata", { usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } }),
]

describe("a conversation", () => {
  test("a conversation is signed, and names its model only in the path", async () => {
    answer((_, reply) => reply.json(answerBody("Grüße.")))
    expect(await whole()).toEqual({
      candidates: [
        { index: 0, parts: [{ kind: "text", text: "Grüße." }], finish: { reason: "stop", word: "end_turn" } },
      ],
      usage: { input: 3, output: 4 },
    })
    expect(faults).toEqual([undefined])
    const { path, body } = upstream.lastRequest()
    expect(path).toBe("/model/us.amazon.nova-2-lite-v1%3A0/converse")
    expect(JSON.parse(body.toString())).toEqual({
      inferenceConfig: { maxTokens: 50 },
      messages: [{ role: "user", content: [{ text: "Grüß Gott" }] }],
    })
  })

  test("a conversation uses a Bedrock API key if that is configured", async () => {
    answer((_, reply) => reply.json(answerBody("Hello.")))
    await whole({ proof: { apiKey: new Secret("bedrock-api-key") } })
    expect(upstream.lastRequest().headers.authorization).toBe("Bearer bedrock-api-key")
  })

  test.each([
    [400, "ValidationException", "temperature must be less", { code: "invalid_parameter", owner: "caller" }],
    [400, "ValidationException", "Input is too long for requested model.", { code: "context_length_exceeded" }],
    [400, "ValidationException", "The provided model identifier is invalid.", { code: "upstream_unavailable" }],
    [429, "ThrottlingException", "Too many requests.", { code: "upstream_rate_limited", upstreamStatus: 429 }],
    [400, "ServiceQuotaExceededException", "Used up.", { code: "upstream_rate_limited" }],
    [403, "UnrecognizedClientException", "The security token is invalid.", { code: "upstream_unavailable" }],
    [424, "ModelErrorException", "The model failed.", { code: "upstream_unavailable", owner: "upstream" }],
  ] as const)("a conversation rejected with %d %s (%s) fails accordingly", async (status, type, message, expected) => {
    answer((_, reply) => refuse(reply, status, { type, message }))
    expect(await rejectionOf(whole())).toMatchObject(expected)
  })

  test("a conversation rejected with an unknown error fails as well", async () => {
    answer((_, reply) => reply.raw("<html>", { "content-type": "text/html" }, 500))
    expect(await rejectionOf(whole())).toMatchObject({ code: "upstream_unavailable" })
  })
})

describe("a stream", () => {
  test("a stream is decoded from its frames, event by event", async () => {
    answer(async (_, reply) => {
      reply.stream(FRAMED)
      for (const frame of [...textFrames("Grü", "ße."), ...over]) await reply.write(frame)
      reply.end()
    })
    const events = await streamed()
    expect(assembleResponse(events)).toEqual({
      candidates: [
        { index: 0, parts: [{ kind: "text", text: "Grüße." }], finish: { reason: "stop", word: "end_turn" } },
      ],
      usage: { input: 3, output: 4 },
    })
    expect(events.at(-1)).toEqual({ type: "stream-end" })
    expect(upstream.lastRequest().path).toEndWith("/converse-stream")
    expect(faults).toEqual([undefined])
  })

  test("a stream is the same when its bytes arrive one by one", async () => {
    answer(async (_, reply) => {
      reply.stream(FRAMED)
      for (const byte of Buffer.concat([...textFrames("Grüße."), ...over])) await reply.write(Buffer.from([byte]))
      reply.end()
    })
    expect(assembleResponse(await streamed()).candidates[0]?.parts).toEqual([{ kind: "text", text: "Grüße." }])
  })

  test("a stream's first text arrives as soon as Bedrock sends it", async () => {
    let goOn = () => {}
    const waited = new Promise<void>((resolve) => {
      goOn = resolve
    })
    answer(async (_, reply) => {
      reply.stream(FRAMED)
      for (const frame of textFrames("First.")) await reply.write(frame)
      await waited
      reply.end()
    })
    const reader = (await call({ stream: true })).body?.getReader()
    let text = ""
    while (!text.includes("First.")) text += Buffer.from((await reader?.read())?.value ?? []).toString()
    expect(text).toContain('event: contentBlockDelta\ndata: {"contentBlockIndex":0,"delta":{"text":"First."}')
    goOn()
    await reader?.cancel()
  })

  test.each([
    ["throttlingException", "upstream_rate_limited"],
    ["modelStreamErrorException", "upstream_unavailable"],
    ["internalServerException", "upstream_unavailable"],
    ["serviceUnavailableException", "upstream_unavailable"],
    ["validationException", "invalid_parameter"],
  ] as const)("a stream that ends in a %s reports %s", async (type, code) => {
    answer(async (_, reply) => {
      reply.stream(FRAMED)
      for (const frame of textFrames("Half of")) await reply.write(frame)
      await reply.write(framedException(type, "The model stopped."))
      reply.end()
    })
    expect((await streamed()).at(-1)).toMatchObject({ type: "stream-error", error: { code } })
  })

  const framedOf = ({ response }: RecordedExchange) => {
    const { base64 } = response.body as { base64?: string }
    return typeof base64 === "string" ? [Buffer.from(base64, "base64")] : []
  }

  test("a recorded Converse stream passes unchanged", async () => {
    const streams = recordings("converse-stream").flatMap(framedOf)
    expect(streams.length).toBeGreaterThanOrEqual(sampleSize(5))
    for (const bytes of streams) {
      answer(async (_, reply) => {
        reply.stream(FRAMED)
        await reply.write(bytes)
        reply.end()
      })
      const events = await streamed()
      expect(events.at(-1)).toEqual({ type: "stream-end" })
      expect(assembleResponse(events).candidates[0]?.parts.length).toBeGreaterThan(0)
    }
  })
})
