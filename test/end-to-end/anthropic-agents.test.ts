// Headers, versions, betas and keys that coding agents and their libraries send on the Messages routes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type Anthropic from "@anthropic-ai/sdk"
import { anthropicMessage } from "../stage/anthropic-wire.ts"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"
import { ANTHROPIC_VERSIONS, hello, textOf } from "./anthropic-versions.ts"

const HI = hello("test/model")
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: vendorsConfig(upstream.origin) })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(anthropicMessage("Hello."))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

interface PostOptions {
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** A minimal request: only the given headers and the body's type. */
function post({ path = "/anthropic/v1/messages", headers = {}, body = HI }: PostOptions = {}): Promise<Response> {
  return fetch(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
}

const VERSION = { "anthropic-version": "2023-06-01" }
const bearer = () => ({ authorization: `Bearer ${gateway.key}` })
const own = () => ({ "x-api-key": gateway.key })

for (const version of ANTHROPIC_VERSIONS) {
  describe(version.name, () => {
    let client: Anthropic
    beforeAll(() => {
      client = new version.Anthropic({ apiKey: gateway.key, baseURL: `${gateway.url}/anthropic` })
    })

    test("the client's API version is forwarded to the upstream, with the gateway's credential in place of the client's", async () => {
      await client.messages.create(HI)
      const { headers, head, path } = upstream.lastRequest()
      expect(headers).toMatchObject({ "anthropic-version": version.apiVersion, "x-api-key": "upstream-credential" })
      expect(head).not.toContain(gateway.key)
      expect(headers).not.toHaveProperty("authorization")
      expect(path).toBe("/v1/messages")
    })

    test("a beta call is answered, its query is dropped and its betas are forwarded", async () => {
      const betas = ["context-management-2025-06-27", "interleaved-thinking-2025-05-14"]
      const message = await client.beta.messages.create({ ...HI, betas } as never)
      expect(textOf(message as Anthropic.Message)).toBe("Hello.")
      const { headers, path } = upstream.lastRequest()
      expect(headers["anthropic-beta"]?.split(/,\s*/)).toEqual(expect.arrayContaining(betas))
      expect(path).toBe("/v1/messages")
    })

    test("a coding agent's body reaches the upstream unchanged except for the user id", async () => {
      const members = {
        context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
        metadata: { user_id: "user_abc_account__session_1" },
        tools: [
          {
            name: "Edit",
            description: "Edits a file.",
            input_schema: {
              $schema: "https://json-schema.org/draft/2020-12/schema",
              type: "object",
              properties: { path: { type: "string", minLength: 1 }, all: { type: "boolean", default: false } },
              required: ["path"],
              additionalProperties: false,
            },
          },
        ],
      }
      await client.beta.messages.create({ ...HI, ...members } as never)
      const metadata = { user_id: expect.stringMatching(/^trv-[\w-]{43}$/) }
      expect(JSON.parse(upstream.lastRequest().body.toString())).toEqual({
        ...{ ...HI, ...members, metadata, model: "upstream-model" },
      })
    })

    test("system messages are accepted among the messages", async () => {
      const messages = [...HI.messages, { role: "system", content: "Be brief." }]
      const message = await client.messages.create({ ...HI, messages } as typeof HI)
      expect(textOf(message)).toBe("Hello.")
    })

    test("the client works with the prefix of the specification", async () => {
      const neutral = new version.Anthropic({ apiKey: gateway.key, baseURL: `${gateway.url}/msgapi` })
      expect(textOf(await neutral.messages.create(HI))).toBe("Hello.")
    })
  })
}

describe("the greeting", () => {
  test.each(["/api/hello", "/anthropic/api/hello", "/msgapi/api/hello"])(
    "HEAD %s is answered without a key",
    async (path) => {
      const response = await fetch(gateway.url + path, { method: "HEAD" })
      expect(response.status).toBe(200)
      expect(await response.text()).toBe("")
    },
  )
})

describe("the API key", () => {
  const accepted: readonly [string, () => Record<string, string>][] = [
    ["as a bearer", bearer],
    ["in x-api-key", own],
    ["in both if they are equal", () => ({ ...bearer(), ...own() })],
  ]
  test.each(accepted)("the API key is accepted %s", async (_, headers) => {
    expect((await post({ headers: { ...VERSION, ...headers() } })).status).toBe(200)
    expect(upstream.lastRequest().head).not.toContain(gateway.key)
  })

  const contradictory: readonly [string, () => Record<string, string>][] = [
    ["a right bearer and a wrong header", () => ({ ...bearer(), "x-api-key": "sk-ant-other" })],
    ["a wrong bearer and a right header", () => ({ authorization: "Bearer sk-ant-other", ...own() })],
  ]
  test.each(contradictory)("two different API keys are rejected with 400: %s", async (_, headers) => {
    const response = await post({ headers: { ...VERSION, ...headers() } })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { code: "invalid_parameter", type: "invalid_request_error", message: expect.stringContaining("two") },
    })
    expect(upstream.requests).toHaveLength(0)
  })
})

describe("the API version", () => {
  const passed: readonly [sent: Record<string, string>, passed: string][] = [
    [{ "anthropic-version": "2023-06-01" }, "2023-06-01"],
    [{ "anthropic-version": "2023-01-01" }, "2023-01-01"],
    [{ "anthropic-version": "2026-10-21" }, "2026-10-21"],
    [{ "anthropic-version": "2031-01-01" }, "2026-10-21"],
    [{ "msg-version": "2023-06-01" }, "2023-06-01"],
    [{ "msg-version": "2026-10-21" }, "2026-10-21"],
  ]
  test.each(passed)("the version header %j is accepted and forwarded as %p", async (sent, version) => {
    expect((await post({ headers: { ...own(), ...sent } })).status).toBe(200)
    expect(upstream.lastRequest().headers["anthropic-version"]).toBe(version)
    expect(upstream.lastRequest().headers).not.toHaveProperty("msg-version")
  })

  const refused: readonly Record<string, string>[] = [
    {},
    { "anthropic-version": "" },
    { "anthropic-version": "latest" },
    { "anthropic-version": "2023-6-1" },
    { "anthropic-version": "2023-02-30" },
    { "anthropic-version": "2022-12-31" },
    { "msg-version": "1.0" },
  ]
  test.each(refused)("the version header %j is rejected with the accepted ones", async (sent) => {
    for (const path of ["/anthropic/v1/messages", "/msgapi/v1/messages", "/anthropic/v1/messages/count_tokens"]) {
      const response = await post({ path, headers: { ...own(), ...sent } })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        type: "error",
        error: { code: "invalid_version", message: expect.stringContaining("YYYY-MM-DD") },
      })
    }
    expect(upstream.requests).toHaveLength(0)
  })

  test.each(["models", "models/count", "models/test/model"])(
    "the version header is required on %s too",
    async (path) => {
      const url = `${gateway.url}/anthropic/v1/${path}`
      expect((await fetch(url, { headers: own() })).status).toBe(400)
      expect((await fetch(url, { headers: { ...own(), ...VERSION } })).status).toBe(200)
    },
  )

  test("the specification's version header accepts only the specification's roles", async () => {
    const body = { ...HI, messages: [...HI.messages, { role: "system", content: "Be brief." }] }
    const response = await post({ headers: { ...own(), "msg-version": "2026-10-21" }, body })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: "invalid_parameter", param: "messages[1].role" } })
  })
})

describe("the path", () => {
  test.each(["/anthropic/v1/messages", "/anthropic/messages", "/msgapi/v1/messages", "/msgapi/messages"])(
    "the path %s is answered with and without ?beta=true",
    async (path) => {
      for (const query of ["", "?beta=true"]) {
        const response = await post({ path: path + query, headers: { ...own(), ...VERSION } })
        expect(response.status).toBe(200)
        expect(upstream.lastRequest().path).toBe("/v1/messages")
      }
    },
  )

  test.each(["/anthropic/v1/messages/count_tokens", "/msgapi/messages/count_tokens"])(
    "the path %s counts at the upstream with and without ?beta=true",
    async (path) => {
      upstream.script = (_, reply) => reply.json({ input_tokens: 14 })
      const { max_tokens: _, ...body } = HI
      for (const query of ["", "?beta=true"]) {
        const response = await post({ path: path + query, headers: { ...own(), ...VERSION }, body })
        expect(await response.json()).toEqual({ input_tokens: 14 })
        expect(upstream.lastRequest().path).toBe("/v1/messages/count_tokens")
      }
    },
  )

  test("the path of a single model accepts its slash plain or encoded", async () => {
    for (const path of ["test/model", "test%2Fmodel"]) {
      const url = `${gateway.url}/anthropic/v1/models/${path}`
      const response = await fetch(url, { headers: { ...own(), ...VERSION } })
      expect(await response.json()).toMatchObject({ type: "model", id: "test/model" })
    }
  })
})
