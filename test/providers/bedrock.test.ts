import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import { hello, textOf } from "../end-to-end/anthropic-versions.ts"
import { recordings, sampleSize, streamText, wholeText } from "../recordings/recorded.ts"
import { anthropicEvent, anthropicMessage, anthropicWords } from "../stage/anthropic-wire.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { dataOf, FRAMED, framedEvent, framedException, refuse, signatureFault, streamFramed } from "./aws.ts"

const credential = { accessKeyId: "AKIDTESTTESTTEST", secretAccessKey: "test/secret+access/key" }
const ARN = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"

let upstream: ScriptedUpstream
let gateway: InProcessGateway
let faults: (string | undefined)[] = []

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = InProcessGateway.start({
    config: `
providers:
  bedrock: { region: eu-west-1, base_url: "${upstream.origin}", access_key_id: "${credential.accessKeyId}",
    secret_access_key: "${credential.secretAccessKey}" }
  in-session: { type: bedrock, region: us-east-1, base_url: "${upstream.origin}",
    access_key_id: "${credential.accessKeyId}", secret_access_key: "${credential.secretAccessKey}",
    session_token: "the/session+token" }
  keyed: { type: bedrock, region: us-east-1, base_url: "${upstream.origin}", api_key: "bedrock-api-key" }
  messages-alone: { type: bedrock, region: us-east-1, base_url: "${upstream.origin}", api_key: "bedrock-api-key",
    protocols: [anthropic-messages] }
models:
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: bedrock, model: "eu.anthropic.claude-test-v1:0" }] }
  - { id: test/profile, pricing: { input: "1", output: "2" }, targets: [{ provider: bedrock, model: "${ARN}" }] }
  - { id: test/session, pricing: { input: "1", output: "2" }, targets: [{ provider: in-session, model: anthropic.claude-test }] }
  - { id: test/keyed, pricing: { input: "1", output: "2" }, targets: [{ provider: keyed, model: anthropic.claude-test }] }
  - { id: test/foreign, pricing: { input: "1", output: "2" }, targets: [{ provider: messages-alone, model: "meta.llama3-v1:0" }] }
  - { id: test/two, pricing: { input: "1", output: "2" }, targets: [{ provider: bedrock, model: anthropic.first, priority: 1 },
      { provider: keyed, model: anthropic.second, priority: 2 }] }
`,
  })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})
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

function client(): Anthropic {
  return new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.key, maxRetries: 0 })
}

const body = () => JSON.parse(upstream.lastRequest().body.toString())

describe("a message through Bedrock", () => {
  test("a message through Bedrock is signed, has its model in the path and Bedrock's version in the body", async () => {
    answer((_, reply) => reply.json(anthropicMessage("Grüße.")))
    const message = await client().messages.create({ ...hello("test/model", "Grüß Gott"), stop_sequences: ["x"] })
    expect(textOf(message)).toBe("Grüße.")
    expect(message.model).toBe("test/model")
    expect(faults).toEqual([undefined])
    const { path, headers } = upstream.lastRequest()
    expect(path).toBe("/model/eu.anthropic.claude-test-v1%3A0/invoke")
    expect(headers["anthropic-version"]).toBeUndefined()
    expect(body()).toEqual({
      max_tokens: 200,
      messages: [{ role: "user", content: "Grüß Gott" }],
      stop_sequences: ["x"],
      anthropic_version: "bedrock-2023-05-31",
    })
  })

  test("a message through Bedrock may address an inference profile by its ARN", async () => {
    answer((_, reply) => reply.json(anthropicMessage("Hello.")))
    await client().messages.create(hello("test/profile"))
    expect(upstream.lastRequest().path).toBe(
      "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc123/invoke",
    )
    expect(faults).toEqual([undefined])
  })

  test("a message through Bedrock is signed with a session's token if there is one", async () => {
    answer((_, reply) => reply.json(anthropicMessage("Hello.")))
    await client().messages.create(hello("test/session"))
    expect(upstream.lastRequest().headers["x-amz-security-token"]).toBe("the/session+token")
    expect(faults).toEqual([undefined])
  })

  test("a message through Bedrock uses a Bedrock API key if that is configured", async () => {
    answer((_, reply) => reply.json(anthropicMessage("Hello.")))
    await client().messages.create(hello("test/keyed"))
    expect(upstream.lastRequest().headers.authorization).toBe("Bearer bedrock-api-key")
  })

  test("a message through Bedrock has only the betas that Bedrock knows, in its body", async () => {
    answer((_, reply) => reply.json(anthropicMessage("Hello.")))
    const betas = ["claude-code-20250219", "interleaved-thinking-2025-05-14", "context-1m-2025-08-07"]
    await client().beta.messages.create({ ...hello("test/model"), betas } as never)
    expect(body().anthropic_beta).toEqual(["interleaved-thinking-2025-05-14", "context-1m-2025-08-07"])
    expect(upstream.lastRequest().headers["anthropic-beta"]).toBeUndefined()
  })

  test("a message through Bedrock is counted with Bedrock's endpoint and answered in Anthropic's form", async () => {
    answer((_, reply) => reply.json({ inputTokens: 375 }))
    const { max_tokens: _, ...request } = hello("test/model")
    expect(await client().messages.countTokens(request)).toMatchObject({ input_tokens: 375 })
    expect(upstream.lastRequest().path).toBe("/model/eu.anthropic.claude-test-v1%3A0/count-tokens")
    const inner = JSON.parse(Buffer.from(body().input.invokeModel.body, "base64").toString())
    expect(inner).toEqual({ messages: request.messages, anthropic_version: "bedrock-2023-05-31", max_tokens: 1 })
    expect(faults).toEqual([undefined])
  })

  test("a message through Bedrock is not offered for other authors' models in the invoke API", async () => {
    const error = await rejectionOf(client().messages.create(hello("test/foreign")))
    expect(error).toMatchObject({ status: 404, error: { error: { code: "model_not_found" } } })
  })

  test("a recorded answer through Bedrock passes unchanged", async () => {
    const whole = [...recordings("invoke")].filter(({ response }) => wholeText({ response } as never)?.includes("msg_"))
    expect(whole.length).toBeGreaterThanOrEqual(sampleSize(1))
    for (const recording of whole) {
      const text = Buffer.from(wholeText(recording) ?? "", "latin1")
      answer((_, reply) => reply.raw(text))
      const message = await client().messages.create(hello("test/model"))
      expect({ ...message, model: "" }).toMatchObject({ ...JSON.parse(text.toString()), model: "" })
    }
  })
})

describe("a stream through Bedrock", () => {
  const stream = (model = "test/model") => client().messages.stream(hello(model))
  const raw = async () => {
    const response = await fetch(`${gateway.url}/anthropic/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": gateway.key, "anthropic-version": "2023-06-01", "content-type": "application/json" },
      body: JSON.stringify({ ...hello("test/model"), stream: true }),
    })
    return response.text()
  }

  test("a stream through Bedrock arrives as Anthropic's own events, their bytes unchanged", async () => {
    const events = [...anthropicWords("Grüße aus dem Rahmen."), ""].slice(0, -2)
    const stop = '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":9,"outputTokenCount":3}}'
    answer(async (_, reply) => {
      await streamFramed(reply, events)
      await reply.write(framedEvent(stop))
      reply.end()
    })
    const sent = `${events.join("")}event: message_stop\ndata: ${stop}\n\n`
    expect(await raw()).toBe(sent.replace('"model":"upstream-model-20260101"', '"model":"test/model"'))
    expect(upstream.lastRequest().path).toEndWith("/invoke-with-response-stream")
    expect(body().stream).toBeUndefined()
    expect(faults).toEqual([undefined])
  })

  test("a stream through Bedrock is read by Anthropic's client, tools included", async () => {
    const events = [
      ...anthropicWords("Let me see.").slice(0, -2),
      anthropicEvent("content_block_start", {
        index: 1,
        content_block: { type: "tool_use", id: "toolu_bdrk_1", name: "weather", input: {} },
      }),
      ...['{"city":', '"Köln"}'].map((partial_json) =>
        anthropicEvent("content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json } }),
      ),
      anthropicEvent("content_block_stop", { index: 1 }),
      anthropicEvent("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 20 } }),
      anthropicEvent("message_stop"),
    ]
    answer(async (_, reply) => {
      await streamFramed(reply, events)
      reply.end()
    })
    const message = await stream().finalMessage()
    expect(message.content[1]).toMatchObject({ type: "tool_use", name: "weather", input: { city: "Köln" } })
    expect(message.stop_reason).toBe("tool_use")
  })

  test("a stream through Bedrock is the same when the bytes of its frames arrive one by one", async () => {
    const bytes = Buffer.concat(dataOf(anthropicWords("Byte by byte.")).map(framedEvent))
    answer(async (_, reply) => {
      reply.stream(FRAMED)
      for (const byte of bytes) await reply.write(Buffer.from([byte]))
      reply.end()
    })
    expect(textOf(await stream().finalMessage())).toBe("Byte by byte.")
  })

  test.each([
    ["throttlingException", "upstream_rate_limited"],
    ["modelStreamErrorException", "upstream_unavailable"],
    ["internalServerException", "upstream_unavailable"],
    ["modelTimeoutException", "upstream_unavailable"],
    ["validationException", "invalid_parameter"],
  ])("a stream through Bedrock that ends in a %s raises %s", async (type, code) => {
    answer(async (_, reply) => {
      await streamFramed(reply, anthropicWords("Half of").slice(0, -3))
      await reply.write(framedException(type, "The model stopped."))
      reply.end()
    })
    const error = await rejectionOf(stream().finalMessage())
    expect(error).toBeInstanceOf(Anthropic.APIError)
    expect(String(error)).toContain(code)
  })

  test("a stream through Bedrock that is throttled before its first event is answered by the next target", async () => {
    answer(async ({ path }, reply) => {
      if (path.includes("anthropic.first")) {
        reply.stream(FRAMED)
        await reply.write(framedException("throttlingException", "Slow down."))
      } else await streamFramed(reply, anthropicWords("From the second."))
      reply.end()
    })
    expect(textOf(await stream("test/two").finalMessage())).toBe("From the second.")
  })

  test.each([
    ["a wrong checksum", (frame: Buffer) => frame.fill(0, frame.length - 4)],
    ["a wrong length", (frame: Buffer) => frame.fill(0xff, 0, 4)],
    ["half a frame", (frame: Buffer) => frame.subarray(0, frame.length / 2)],
  ])("a stream through Bedrock with %s is broken, not complete", async (_, spoil) => {
    answer(async (_request, reply) => {
      await streamFramed(reply, anthropicWords("Half of").slice(0, -3))
      await reply.write(spoil(framedEvent('{"type":"message_stop"}')))
      reply.end()
    })
    const error = await rejectionOf(stream().finalMessage())
    expect(error).toBeInstanceOf(Anthropic.APIError)
    expect(String(error)).toContain("overloaded_error")
  })

  test("a stream through Bedrock is ended at Bedrock when its client leaves", async () => {
    let closed: Promise<number> | undefined
    answer(async (_, reply) => {
      closed = reply.closed
      await streamFramed(reply, anthropicWords("And so on").slice(0, -3))
    })
    const left = stream()
    for await (const { type } of left) if (type === "content_block_delta") break
    expect(await closed).toBeNumber()
  })

  test("Anthropic's recorded streams pass through Bedrock unchanged", async () => {
    const streams = recordings("messages").flatMap((recording) => streamText(recording) ?? [])
    expect(streams.length).toBeGreaterThanOrEqual(sampleSize(10))
    for (const text of streams) {
      const sent = dataOf([Buffer.from(text, "latin1").toString()])
      answer(async (_, reply) => {
        reply.stream(FRAMED)
        await reply.write(Buffer.concat(sent.map(framedEvent)))
        reply.end()
      })
      const named = (data: string) => data.replace(/"model":\s?"[^"]*"/, '"model":"x"')
      // Clients refuse a second opening, so it does not pass on Anthropic's own host either.
      const once = sent.filter((data, at) => at === 0 || !data.includes('"message_start"'))
      const end = once.findIndex((data) => data.includes('"message_stop"'))
      expect(dataOf([await raw()]).map(named)).toEqual(once.slice(0, end + 1).map(named))
    }
  })
})

describe("Bedrock's rejection", () => {
  const rejectionWith = async (status: number, type: string, message: string) => {
    answer((_, reply) => refuse(reply, status, { type, message }))
    const error = await rejectionOf(client().messages.create(hello("test/model")))
    const { status: seen, error: details } = error as {
      status: number
      error: { error: { code: string; message: string } }
    }
    return { ...details.error, status: seen }
  }

  test("Bedrock's rejection of a parameter is returned as the caller's error", async () => {
    const message = "max_tokens: 999999 > 64000, which is the maximum allowed"
    expect(await rejectionWith(400, "ValidationException", message)).toMatchObject({
      status: 400,
      code: "invalid_parameter",
      message,
    })
  })

  test("Bedrock's rejection of a too-long input has the message that agents expect", async () => {
    const rejection = await rejectionWith(400, "ValidationException", "Input is too long for requested model.")
    expect(rejection).toMatchObject({ status: 400, code: "context_length_exceeded" })
    expect(rejection.message).toStartWith("prompt is too long")
  })

  test.each([
    [429, "ThrottlingException", "Too many requests.", "upstream_rate_limited"],
    [400, "ServiceQuotaExceededException", "Your quota is used up.", "upstream_rate_limited"],
    [400, "ValidationException", "The provided model identifier is invalid.", "upstream_unavailable"],
    [403, "UnrecognizedClientException", "The security token is invalid.", "upstream_unavailable"],
    [408, "ModelTimeoutException", "It took too long.", "upstream_unavailable"],
    [503, "ServiceUnavailableException", "Not now.", "upstream_unavailable"],
  ])("Bedrock's rejection with %d %s is not the caller's error", async (status, type, message, code) => {
    expect(await rejectionWith(status, type, message)).toMatchObject({ status: 503, code })
  })

  test("Bedrock's rejection is returned without the signing credentials, even if it repeats them", async () => {
    const leak = `${credential.secretAccessKey} and ${credential.accessKeyId} may not set top_k`
    const { message } = await rejectionWith(400, "ValidationException", leak)
    expect(message).toBe("[secret] and [secret] may not set top_k")
  })

  test("Bedrock's rejection is read with any body", async () => {
    answer((_, reply) => reply.raw("<html>", { "content-type": "text/html" }, 500))
    expect(await rejectionOf(client().messages.create(hello("test/model")))).toMatchObject({ status: 503 })
    answer((_, reply) => reply.raw("x".repeat(100_000), {}, 500))
    expect(await rejectionOf(client().messages.create(hello("test/model")))).toMatchObject({ status: 503 })
  })
})
