import { describe, expect, test } from "bun:test"
import { answerWithKeepAlive } from "./slow-response.ts"

const jsonResponse = (body: object, status = 200) => new Response(JSON.stringify(body), { status })

describe("an administration response", () => {
  test("a fast administration response is sent unchanged", async () => {
    const answer = await answerWithKeepAlive(Promise.resolve(jsonResponse({ error: {} }, 404)), 1000)
    expect(answer.status).toBe(404)
    expect(await answer.text()).toBe('{"error":{}}')
  })

  test("a slow administration response sends spaces until it is ready, and is valid JSON", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>()
    const answer = await answerWithKeepAlive(promise, 10)
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"])
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ""
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      text += piece.value
      if (text.length === 2) resolve(jsonResponse({ sound: true }))
    }
    expect(text).toMatch(/^ {2,}\{/)
    expect(JSON.parse(text)).toEqual({ sound: true })
  })
})
