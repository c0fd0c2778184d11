// Upstream failures as a caller sees them: the upstream's message if the caller can fix the request, otherwise that no
// provider could answer. Never the upstream's own status, body or headers, and never the gateway's credential.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { chunk, ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"

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

const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] }
const CREDENTIAL = "upstream-credential"
const BODY = {
  error: { message: `Account org-4711, key ${CREDENTIAL}: no.`, type: "secret_type", code: "secret_code", param: null },
}

interface UpstreamErrorAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly error: Record<string, unknown>
}

async function ask(script: UpstreamScript, stream = false): Promise<UpstreamErrorAnswer> {
  upstream.script = script
  const response = await gateway.chat({ ...HI, stream })
  const text = await response.text()
  const { error } = JSON.parse(text.replace(/^data: /, ""))
  return { status: response.status, headers: response.headers, text, error }
}

/** Everything the caller gets to see. */
function seen({ headers, text }: UpstreamErrorAnswer): string {
  return `${JSON.stringify([...headers])}\n${text}`
}

describe.each([401, 402, 403, 404, 405, 408, 409, 425, 429, 500, 502, 503, 504, 529, 302])(
  "an upstream's %p",
  (status) => {
    for (const stream of [false, true]) {
      test(`an upstream error is a 503 that repeats nothing of it${stream ? ", streamed" : ""}`, async () => {
        const answer = await ask((_, reply) => reply.json(BODY, status, { "x-account": "org-4711" }), stream)
        expect(answer.status).toBe(503)
        expect(answer.error.type).toBe("service_unavailable_error")
        expect(answer.error.code).toBe(status === 429 ? "upstream_rate_limited" : "upstream_unavailable")
        expect(answer.headers.get("x-should-retry")).toBe("false")
        expect(seen(answer)).not.toMatch(/upstream-credential|org-4711|secret_/)
        expect(upstream.requests).toHaveLength(1)
      })
    }

    test("an upstream error is listed among the attempts", async () => {
      const { error } = await ask((_, reply) => reply.json(BODY, status))
      expect(error.attempts).toEqual([
        { model: "test/model", provider: "scripted", status, reason: expect.any(String) as unknown as string },
      ])
    })
  },
)

describe("the retry delay", () => {
  test("a short retry delay of the upstream is forwarded, and the caller may retry", async () => {
    const { status, headers } = await ask((_, reply) => reply.json(BODY, 429, { "retry-after": "7" }))
    expect(status).toBe(503)
    expect(headers.get("retry-after")).toBe("7")
    expect(headers.get("x-should-retry")).toBeNull()
  })

  test("a retry delay above one minute is forwarded, but a retry is discouraged", async () => {
    const { headers } = await ask((_, reply) => reply.json(BODY, 503, { "retry-after": "90" }))
    expect(headers.get("retry-after")).toBe("90")
    expect(headers.get("x-should-retry")).toBe("false")
  })
})

describe("the caller's own mistake", () => {
  const errorBody = (message: string, more = {}) => ({ error: { message, type: "invalid_request_error", ...more } })

  test.each([400, 413, 422])(
    "a caller's mistake reported with %p is returned as 400 with the upstream's message",
    async (status) => {
      const answer = await ask((_, reply) =>
        reply.json(errorBody("`n` must be 1.", { param: "n", code: null }), status),
      )
      expect(answer.status).toBe(400)
      expect(answer.error).toEqual({
        code: "invalid_parameter",
        type: "invalid_request_error",
        message: "`n` must be 1.",
        param: "n",
      })
    },
  )

  test("a context that is too long has its own code", async () => {
    const body = errorBody("This model's maximum context length is 10 tokens.", { code: "context_length_exceeded" })
    const { status, error } = await ask((_, reply) => reply.json(body, 400))
    expect(status).toBe(400)
    expect(error.code).toBe("context_length_exceeded")
  })

  test("a caller's mistake is returned without the gateway's credential, even if the upstream repeats it", async () => {
    const answer = await ask((_, reply) => reply.json(errorBody(`Key ${CREDENTIAL} may not set \`n\`.`), 400))
    expect(answer.status).toBe(400)
    expect(answer.error.message).toBe("Key [secret] may not set `n`.")
    expect(seen(answer)).not.toContain(CREDENTIAL)
  })

  test("a caller's mistake in a stream's first event is returned as 400 without the gateway's credential", async () => {
    const answer = await ask(async (_, reply) => {
      reply.stream()
      await reply.write(`data: ${JSON.stringify(errorBody(`Key ${CREDENTIAL} may not set \`n\`.`))}\n\n`)
      reply.end()
    }, true)
    expect(answer.status).toBe(400)
    expect(seen(answer)).not.toContain(CREDENTIAL)
  })

  test("a caller's mistake in the middle of a stream is returned without the gateway's credential", async () => {
    upstream.script = async (_, reply) => {
      reply.stream()
      await reply.write(chunk({ role: "assistant", content: "Hello." }))
      await reply.write(`data: ${JSON.stringify(errorBody(`Key ${CREDENTIAL} may not set \`n\`.`))}\n\n`)
      reply.end()
    }
    const text = await (await gateway.chat({ ...HI, stream: true })).text()
    expect(text).toContain('"error":{')
    expect(text).not.toContain(CREDENTIAL)
  })
})

test("a rejected credential is not the caller's mistake, even in a stream's first event", async () => {
  // The shape in which OpenAI rejects a key: the type blames the request, only the code is specific.
  const refusal = { message: "Incorrect API key provided.", type: "invalid_request_error", code: "invalid_api_key" }
  const answer = await ask(async (_, reply) => {
    reply.stream()
    await reply.write(`data: ${JSON.stringify({ error: refusal })}\n\n`)
    reply.end()
  }, true)
  expect(answer.status).toBe(503)
  expect(answer.error.code).toBe("upstream_unavailable")
})

test("an error in a stream that is a bare sentence ends it like any other", async () => {
  upstream.script = async (_, reply) => {
    reply.stream()
    await reply.write(chunk({ role: "assistant", content: "Hello." }))
    await reply.write(`data: {"error":"Account org-4711, key ${CREDENTIAL}: no."}\n\ndata: [DONE]\n\n`)
    reply.end()
  }
  const text = await (await gateway.chat({ ...HI, stream: true })).text()
  expect(text).toContain('"code":"upstream_unavailable"')
  expect(text).not.toMatch(/upstream-credential|org-4711|\[DONE\]/)
})

describe("a malformed answer", () => {
  const answers: readonly [string, UpstreamScript][] = [
    ["an error with status 200", (_, reply) => reply.json(BODY)],
    ["not JSON", (_, reply) => reply.raw("<html>org-4711</html>", { "content-type": "text/html" })],
    ["truncated JSON", (_, reply) => reply.raw('{"choices": [{"message": "org-4711"')],
    ["empty", (_, reply) => reply.raw("")],
    ["a list", (_, reply) => reply.raw('[{"choices": "org-4711"}]')],
  ]
  test.each(answers)("an answer that is %s is a 503 that repeats nothing of it", async (_, script) => {
    const answer = await ask(script)
    expect(answer.status).toBe(503)
    expect(answer.error.code).toBe("upstream_unavailable")
    expect(seen(answer)).not.toMatch(/upstream-credential|org-4711|secret_/)
  })
})

test("the log contains neither the upstream's text nor the credential", async () => {
  await ask((_, reply) => reply.json(BODY, 500))
  await eventually(() => gateway.logged("exchange").length > 0)
  expect(gateway.output.stderr).not.toMatch(/upstream-credential|org-4711|secret_/)
})
