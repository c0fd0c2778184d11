// Requests that are malformed in every way: each is rejected by name, and none affects others or gets into the log.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { LatencyProbe } from "../stage/latency-probe.ts"
import { RawClient } from "../stage/raw-client.ts"
import { chunk, completion, ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { absent, type ChatField, FIELDS, fullRequest, NULLABLE, withValue, wrongValues } from "./chat-fields.ts"

const MIB = 1024 * 1024
const BODY_LIMIT = 32 * MIB

const PROMPT_CANARY = "canary-in-a-prompt"
const ANSWER_CANARY = "canary-in-an-answer"
const ERROR_CANARY = "canary-in-an-upstream-error"
const CREDENTIAL_CANARY = "upstream-credential"
const HEADER_CANARY = "canary-in-a-header"
const PATH_CANARY = "canary-in-a-path"

const good = { model: "test/model", messages: [{ role: "user", content: PROMPT_CANARY }] }
const goodText = JSON.stringify(good)

let upstream: ScriptedUpstream
let gateway: RunningGateway

const answering: UpstreamScript = (_, reply) => reply.json(completion(ANSWER_CANARY))

beforeAll(async () => {
  upstream = await ScriptedUpstream.start(answering)
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

interface ErrorAnswer {
  readonly status: number
  readonly error: { code: string; message: string; type: string; param?: string }
}

async function refusal(body: unknown): Promise<ErrorAnswer> {
  const response = await gateway.chat(body)
  const { error } = (await response.json()) as { error: ErrorAnswer["error"] }
  return { status: response.status, error }
}

const invalidJson = { status: 400, error: { code: "invalid_json", type: "invalid_request_error" } }

/** The good request with one more member, given as text. */
function withMember(text: string): string {
  return `${goodText.slice(0, -1)},${text}}`
}

describe("a body that is not one JSON object", () => {
  const cases: Record<string, string> = {
    empty: "",
    "white space": " \n ",
    "cut off": goodText.slice(0, -1),
    "cut off in a string": goodText.slice(0, 40),
    "two objects": goodText + goodText,
    "garbage behind it": `${goodText} x`,
    "a closing brace too many": `${goodText}}`,
    "single quotes": goodText.replaceAll('"', "'"),
    "unquoted names": goodText.replace('"model"', "model"),
    NaN: withMember('"temperature":NaN'),
    Infinity: withMember('"temperature":Infinity'),
    "a leading plus": withMember('"temperature":+1'),
    hexadecimal: withMember('"max_tokens":0x10'),
    "a line comment": goodText.replace("{", "{// no\n"),
    "a block comment": goodText.replace("{", "{/* no */"),
    "a trailing comma": `${goodText.slice(0, -1)},}`,
    "a missing comma": goodText.replace(",", " "),
    "a missing colon": goodText.replace(":", " "),
    "mismatched brackets": goodText.replace("]", "}"),
    "a raw newline in a string": goodText.replace("canary", "canary\n"),
    "a bad escape": goodText.replace("canary", "\\x"),
    "a bare word": "undefined",
    array: `[${goodText}]`,
    "empty array": "[]",
    string: JSON.stringify(goodText),
    number: "42",
    true: "true",
    null: "null",
    "form data": "model=test&messages=",
  }

  test.each(Object.entries(cases))(
    "a body that is not one JSON object is rejected as invalid_json: %s",
    async (_, body) => {
      const seen = upstream.requests.length
      expect(await refusal(body)).toMatchObject(invalidJson)
      expect(upstream.requests).toHaveLength(seen)
    },
  )

  test.each([
    '"model":"test/model"',
    '"mod\\u0065l":"test/model"',
    '"messages":[{"role":"user","content":"x"}]',
    '"stream":false,"stream":true',
    '"provider":{},"provider":{}',
    '"stream_options":{},"stream_options":{}',
  ])("a duplicate member is rejected, since two parsers may read it differently: %s", async (member) => {
    expect(await refusal(withMember(member))).toMatchObject(invalidJson)
  })

  test("a __proto__ member adds no members to the request", async () => {
    const body = `{"__proto__":${goodText}}`
    expect(await refusal(body)).toMatchObject({ status: 400, error: { code: "missing_parameter", param: "model" } })
  })
})

describe("a body in another encoding", () => {
  const bytes = (...list: number[]) => Buffer.from(list)
  const around = (wrong: Buffer) => {
    const [before = "", after = ""] = goodText.split("canary")
    return Buffer.concat([Buffer.from(before), wrong, Buffer.from(after)])
  }
  const cases: Record<string, Buffer> = {
    "a byte that is never UTF-8": around(bytes(0xff)),
    "a lone continuation byte": around(bytes(0x80)),
    "an overlong slash": around(bytes(0xc0, 0xaf)),
    "an encoded surrogate": around(bytes(0xed, 0xa0, 0x80)),
    "beyond the last code point": around(bytes(0xf5, 0x80, 0x80, 0x80)),
    "a character cut off": around(bytes(0xf0, 0x9f, 0x98)),
    "Latin-1": around(Buffer.from("café", "latin1")),
    "UTF-16 little-endian": Buffer.from(`\ufeff${goodText}`, "utf16le"),
    "UTF-16 big-endian": Buffer.from(`\ufeff${goodText}`, "utf16le").swap16(),
    "UTF-8 behind a byte order mark": Buffer.from(`\ufeff${goodText}`),
  }

  test.each(Object.entries(cases))("a body in another encoding is rejected as invalid_json: %s", async (_, body) => {
    expect(await refusal(body)).toMatchObject(invalidJson)
  })

  test.each(Object.entries(cases))(
    "a large body in another encoding is rejected as invalid_json: %s",
    async (_, body) => {
      expect(await refusal(Buffer.concat([body, Buffer.alloc(MIB, " ")]))).toMatchObject(invalidJson)
    },
  )

  test("every character of UTF-8 passes as written", async () => {
    const body = withMember('"note":"é€😀\\ud83d\\ude00\\ud800\u2028"')
    expect((await gateway.chat(body)).status).toBe(200)
    expect(upstream.lastRequest().body.toString()).toContain('"note":"é€😀\\ud83d\\ude00\\ud800\u2028"')
  })
})

describe("a member of the wrong type or out of bounds", () => {
  test("the request that holds every member is accepted", async () => {
    const response = await gateway.chat(fullRequest)
    expect(await response.text()).toContain(ANSWER_CANARY)
    expect(response.status).toBe(200)
  })

  test.each(FIELDS)("an invalid $path is rejected by name", async (field: ChatField) => {
    const seen = upstream.requests.length
    const tried = wrongValues(field)
    expect(tried.length).toBeGreaterThan(0)
    for (const value of tried) {
      const { status, error } = await refusal(withValue(fullRequest, field.path, value))
      const result = { value, status, code: error.code, param: error.param, type: error.type }
      const code = field.required && value === null ? "missing_parameter" : "invalid_parameter"
      expect(result).toEqual({ value, status: 400, code, param: field.path, type: "invalid_request_error" })
      expect(error.message).toContain(field.path)
    }
    expect(upstream.requests).toHaveLength(seen)
  })

  test.each(FIELDS.filter(({ required }) => required))("a missing $path is rejected", async ({ path }) => {
    const error = { code: "missing_parameter", param: path }
    expect(await refusal(withValue(fullRequest, path, absent))).toMatchObject({ status: 400, error })
  })

  test.each(FIELDS.flatMap(({ path, bounds = [] }) => bounds.map((bound) => ({ path, bound }))))(
    "$path may be $bound",
    async ({ path, bound }) => {
      expect((await gateway.chat(withValue(fullRequest, path, bound))).status).toBe(200)
    },
  )

  test.each(NULLABLE)("%s may be null, which counts as absent", async (path) => {
    expect((await gateway.chat(withValue(fullRequest, path, null))).status).toBe(200)
  })

  test("a number beyond the range of a double is rejected", async () => {
    for (const name of ["temperature", "top_p", "frequency_penalty", "max_tokens", "n"]) {
      expect(await refusal(withMember(`"${name}":1e400`))).toMatchObject({ status: 400, error: { param: name } })
    }
  })

  test("tool calls are accepted only in an assistant message", async () => {
    const calls = [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }]
    const error = { code: "invalid_parameter", param: "messages[0].tool_calls" }
    const body = { ...good, messages: [{ ...good.messages[0], tool_calls: calls }] }
    expect(await refusal(body)).toMatchObject({ status: 400, error })
  })

  test.each(["owner", "function", "model", "System", "USER", " user", ""])(
    "the unknown role `%s` is rejected",
    async (role) => {
      const error = { code: "invalid_parameter", param: "messages[0].role" }
      expect(await refusal({ ...good, messages: [{ role, content: "x" }] })).toMatchObject({ status: 400, error })
    },
  )

  test.each(["system", "developer", "user", "assistant"])("the known role `%s` is accepted", async (role) => {
    expect((await gateway.chat({ ...good, messages: [{ role, content: PROMPT_CANARY }] })).status).toBe(200)
  })

  test.each(["api_base", "api_key", "base_url", "custom_host"])(
    "the member %s cannot be set by a caller",
    async (name) => {
      const error = { code: "unsupported_parameter", param: name }
      expect(await refusal({ ...good, [name]: HEADER_CANARY })).toMatchObject({ status: 400, error })
    },
  )

  test("an unknown member of the routing extension is rejected, and an unknown member of the request passes", async () => {
    const error = { code: "invalid_parameter", param: "provider.colour" }
    expect(await refusal({ ...good, provider: { colour: "red" } })).toMatchObject({ status: 400, error })
    expect((await gateway.chat({ ...good, colour: "red" })).status).toBe(200)
    expect(JSON.parse(upstream.lastRequest().body.toString())).toMatchObject({ colour: "red" })
  })

  test.each([
    { what: "an unknown routing member", body: { ...good, provider: { ["x".repeat(MIB)]: 1 } } },
    { what: "an unknown model", body: { ...good, model: "x".repeat(MIB) } },
    { what: "a duplicate name", body: withMember(`"${"x".repeat(MIB)}":1,"${"x".repeat(MIB)}":1`) },
    { what: "a bare word", body: withMember(`"user":${"x".repeat(MIB)}`) },
  ])("$what of a megabyte is not repeated in the error", async ({ body }) => {
    const response = await gateway.chat(body)
    expect(response.status).toBe(400)
    expect((await response.text()).length).toBeLessThan(10_000)
  })
})

describe("a body that is deep, wide or large", () => {
  const DEPTH = 100_000
  const nested: Record<string, string> = {
    arrays: withMember(`"user":${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}`),
    objects: withMember(`"user":${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`),
    "arrays that never close": `${"[".repeat(DEPTH)}`,
    "objects that never close": '{"a":'.repeat(DEPTH),
    "arrays behind a good request": goodText + "[".repeat(DEPTH),
    "arrays in place of the request": "[".repeat(DEPTH) + "]".repeat(DEPTH),
  }

  test.each(Object.entries(nested))("100,000 levels of %s are rejected", async (_, body) => {
    expect(await refusal(body)).toMatchObject(invalidJson)
  })

  test("brackets and commas inside a string are text", async () => {
    const content = "[{".repeat(DEPTH) + ",".repeat(2_000_000)
    expect((await gateway.chat({ ...good, messages: [{ role: "user", content }] })).status).toBe(200)
  })

  test("the deepest allowed nesting passes", async () => {
    expect((await gateway.chat(withMember(`"user":${"[".repeat(127)}${"]".repeat(127)}`))).status).toBe(200)
    expect(await refusal(withMember(`"user":${"[".repeat(128)}${"]".repeat(128)}`))).toMatchObject(invalidJson)
  })

  test("more than a million values are rejected", async () => {
    const numbers = `[${"1,".repeat(1_000_001)}1]`
    const members = Array.from({ length: 1_000_001 }, (_, index) => `"m${index}":1`).join(",")
    expect(await refusal(withMember(`"user":${numbers}`))).toMatchObject(invalidJson)
    expect(await refusal(withMember(members))).toMatchObject(invalidJson)
  })

  const ofLength = (length: number, members = "") => {
    const [before = "", after = ""] = `${goodText.slice(0, -1)}${members}}`.split(PROMPT_CANARY)
    return before + "x".repeat(length - before.length - after.length) + after
  }

  test("a body of exactly 32 MiB passes, and one more byte is rejected", async () => {
    const response = await gateway.chat(ofLength(BODY_LIMIT))
    expect(response.status).toBe(200)
    expect(upstream.lastRequest().body.length).toBe(BODY_LIMIT + "upstream-model".length - "test/model".length)
    upstream.requests.length = 0
    expect(await refusal(ofLength(BODY_LIMIT + 1))).toMatchObject({ status: 413, error: { code: "body_too_large" } })
    expect(upstream.requests).toBeEmpty()
  })

  test.each([
    ',"temperature":9',
    ',"messages":[]',
    ',"stop":[1]',
    ',"provider":{"fallback":[""]}',
    ',"api_key":"x"',
    ',"tools":[{"type":"function"}]',
  ])("a large body is rejected with the same message as a small one: %s", async (member) => {
    const [small, large] = await Promise.all([refusal(ofLength(200, member)), refusal(ofLength(2 * MIB, member))])
    expect(small.status).toBe(400)
    expect(large).toEqual(small)
  })

  test("an announced body of 33 MiB is rejected before it is sent", async () => {
    const headers = { "content-length": String(33 * MIB), connection: "close" }
    const client = await RawClient.chat(gateway.url, { key: gateway.key, body: "{", headers })
    const answer = await client.until(/"error"/)
    expect(answer).toStartWith("HTTP/1.1 413 ")
    expect(answer).toContain("body_too_large")
    client.leave()
  })

  test("an unannounced body of 33 MiB is rejected once it exceeds the limit", async () => {
    const client = await RawClient.connect(gateway.url)
    const head = ["POST /v1/chat/completions HTTP/1.1", "host: gateway", `authorization: Bearer ${gateway.key}`]
    const rest = ["content-type: application/json", "transfer-encoding: chunked", "connection: close"]
    await client.send(`${[...head, ...rest].join("\r\n")}\r\n\r\n`)
    const piece = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(MIB, " "), Buffer.from("\r\n")])
    for (let sent = 0; sent < 33; sent++) await client.send(piece)
    const answer = await client.until(/"error"/)
    expect(answer).toStartWith("HTTP/1.1 413 ")
    expect(answer).toContain("body_too_large")
    client.leave()
  })
})

describe("other clients while costly bodies arrive", () => {
  const members = (count: number) => Array.from({ length: count }, (_, index) => `"m${index}":1`).join(",")
  const cases: { what: string; build: () => string; status: number }[] = [
    { what: "one long string", build: () => withMember(`"user":"${"x".repeat(31 * MIB)}"`), status: 200 },
    { what: "a string of escapes", build: () => withMember(`"user":"${'\\"'.repeat(15 * MIB)}"`), status: 200 },
    { what: "a string of backslashes", build: () => withMember(`"user":"${"\\".repeat(30 * MIB)}"`), status: 200 },
    { what: "letters of three bytes", build: () => withMember(`"user":"${"€".repeat(10 * MIB)}"`), status: 200 },
    { what: "a wide array", build: () => withMember(`"user":[${"12345678901234567,".repeat(900_000)}1]`), status: 200 },
    { what: "white space", build: () => `${goodText}${" ".repeat(31 * MIB)}`, status: 200 },
    { what: "deep arrays", build: () => withMember(`"user":${"[".repeat(31 * MIB)}`), status: 400 },
    { what: "text after the end", build: () => `${goodText}${"x".repeat(31 * MIB)}`, status: 400 },
    { what: "a request of many members", build: () => withMember(members(900_000)), status: 400 },
  ]

  test.each(cases)("other clients are answered in time during $what", async ({ what, build, status }) => {
    const body = Buffer.from(build())
    const pulse = await LatencyProbe.start(`${gateway.url}/healthz`)
    const answers = await Promise.all(Array.from({ length: 3 }, () => gateway.chat(body)))
    const waits = await pulse.stop()
    expect(answers.map((answer) => answer.status)).toEqual([status, status, status])
    upstream.requests.length = 0
    if (process.env.TRIVIUM_TEST_FIGURES) console.log(`${what}: longest wait ${Math.max(...waits).toFixed(0)} ms`)
    expect(Math.max(...waits)).toBeLessThan(500)
  })
})

describe("the gateway after all malformed requests", () => {
  test("upstream errors, wrong keys, unknown paths and failed streams are logged without their text", async () => {
    const words = { error: { message: ERROR_CANARY, type: "invalid_request_error", code: ERROR_CANARY } }
    for (const status of [400, 401, 404, 422, 429, 500]) {
      upstream.script = (_, reply) => reply.json(words, status, { "x-secret": ERROR_CANARY })
      await (await gateway.chat(good)).text()
    }
    const streams = [JSON.stringify(words), `{${ERROR_CANARY}`, ERROR_CANARY]
    for (const event of streams) {
      upstream.script = async (_, reply) => {
        reply.stream()
        await reply.write(`${chunk({ content: ANSWER_CANARY })}data: ${event}\n\n`)
        reply.end()
      }
      await (await gateway.chat({ ...good, stream: true })).text()
    }
    upstream.script = answering
    const headers = { authorization: `Bearer trv_${HEADER_CANARY}`, "x-api-key": HEADER_CANARY, cookie: HEADER_CANARY }
    await fetch(`${gateway.url}/v1/chat/completions?key=${PATH_CANARY}`, { method: "POST", headers, body: goodText })
    await fetch(`${gateway.url}/v1/${PATH_CANARY}`)
    await gateway.chat({ ...good, model: PATH_CANARY })
  })

  test("the process is alive, answers, and has logged every request", async () => {
    const response = await gateway.chat(good)
    expect(response.status).toBe(200)
    const id = response.headers.get("x-request-id")
    await eventually(() => gateway.logged("exchange").some(({ request_id }) => request_id === id))
  })

  test("the log has no internal error", () => {
    const faults = ["unhandled-rejection", "uncaught-exception", "observer-failed"]
    for (const fault of faults) expect(gateway.logged(fault)).toBeEmpty()
    expect(gateway.output.stderr).not.toContain("internal_error")
    const lines = gateway.output.stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"))
    expect(lines).toBeEmpty()
  })

  test("neither the log nor the store contains a prompt, an answer, a key, a credential or upstream text", () => {
    const canaries = [PROMPT_CANARY, ANSWER_CANARY, ERROR_CANARY, CREDENTIAL_CANARY, HEADER_CANARY, PATH_CANARY]
    const data = join(gateway.folder, "data")
    const stored = readdirSync(data).map((name) => readFileSync(join(data, name), "latin1"))
    for (const canary of [...canaries, gateway.key]) {
      expect(gateway.output.stderr.includes(canary)).toBe(false)
      expect(stored.some((text) => text.includes(canary))).toBe(false)
    }
  })
})
