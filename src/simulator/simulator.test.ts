import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../canonical/json.ts"
import { Abort } from "../transport/abort.ts"
import { call, words } from "./simulator.fixture.ts"
import { createSimulator } from "./simulator.ts"

const simulator = createSimulator()

const user = { role: "user", content: "Hello" }
const streams: Record<string, [path: string, body: JsonObject]> = {
  "openai-chat": ["/chat/completions", { model: "m", messages: [user], stream: true }],
  "openai-responses": ["/v1/responses", { model: "m", input: "Hello", stream: true }],
  "anthropic-messages": ["/v1/messages", { model: "m", max_tokens: 99, messages: [user], stream: true }],
  "gemini-generate": ["/v1beta/models/m:streamGenerateContent?alt=sse", { contents: [{ parts: [{ text: "Hello" }] }] }],
}

/** Removes timestamps. */
const timeless = (text: string) => text.replace(/"(created|created_at|completed_at)":\d+/g, "")

describe.each(Object.entries(streams))("the simulator's %s", (_, [path, body]) => {
  test("a streamed answer is a sequence of events", async () => {
    expect((await call(path, body)).headers.get("content-type")).toBe("text/event-stream")
  })

  test("equal requests get equal answers", async () => {
    const [one, two] = await Promise.all([call(path, body), call(path, body)])
    expect(timeless(await one.text())).toBe(timeless(await two.text()))
  })

  test("one event is made for each pull", async () => {
    const reader = (await call(path, body)).body?.getReader()
    for (let at = 0; at < 3; at++) {
      const { value } = (await reader?.read()) ?? {}
      expect(new TextDecoder().decode(value).match(/\n\n/g)).toHaveLength(1)
    }
    await reader?.cancel()
  })

  test("an aborted response fails with the reason of the abort", async () => {
    const abort = new Abort()
    const request = { headers: new Headers(), body: JSON.stringify(body), abort }
    const reader = (await simulator({ url: `https://api.example.com${path}`, ...request })).body?.getReader()
    await reader?.read()
    const reason = new Error("the client left")
    abort.abort(reason)
    const rest = async () => {
      for (let ended = false; !ended; ) ended = (await reader?.read())?.done ?? true
    }
    await expect(rest()).rejects.toBe(reason)
    await expect(simulator({ url: `https://api.example.com${path}`, ...request })).rejects.toBe(reason)
  })

  test("a body that is not JSON is refused", async () => {
    for (const text of ["", "{", "[]", "null"]) expect((await call(path, text)).status).toBe(400)
  })
})

test("a body in bytes is read like text", async () => {
  const body = new TextEncoder().encode(JSON.stringify({ model: "m", messages: [{ role: "user", content: "Grüße" }] }))
  const request = { headers: new Headers(), body, abort: new Abort() }
  const response = await simulator({ url: "simulator:/chat/completions", ...request })
  expect(await response.text()).toContain("Grüße")
})

test("an unknown path is answered 404 in OpenAI's shape", async () => {
  for (const path of ["/v1/audio/speech", "/v1beta/models/m:predict", ""]) {
    const response = await call(path, {})
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", code: null } })
  }
})

test("each simulator has its own prompt cache", async () => {
  const body = { model: "m", messages: [{ role: "user", content: words(2000) }] }
  const cached = async (send = createSimulator()) => (await call("/chat/completions", body, send)).text()
  const send = createSimulator()
  await cached(send)
  expect(await cached(send)).toContain('"cached_tokens":1920')
  expect(await cached()).toContain('"cached_tokens":0')
})
