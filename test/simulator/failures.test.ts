import { describe, expect, test } from "bun:test"
import { createSimulator } from "../../src/simulator/simulator.ts"
import { Abort } from "../../src/transport/abort.ts"
import { eventsIn, readStream, simulated } from "./simulated-call.ts"
import { questionFor, SIMULATED_PROTOCOLS } from "./simulated-protocols.ts"

const lost = expect.objectContaining({ code: "ECONNRESET" })

describe.each(SIMULATED_PROTOCOLS.map((each) => [each.name, each] as const))("%s", (name, protocol) => {
  const { stream, whole, terminal, usage, requestId, unavailable, limited } = protocol
  const [member, input, output] = usage
  const isArray = name.endsWith("array")

  describe("a status", () => {
    test.each([400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529])(
      "the status %d has the vendor's error shape",
      async (status) => {
        for (const question of [stream, whole]) {
          const response = await simulated(question, { words: `status-${status}` })
          expect(response.status).toBe(status)
          expect(response.headers.get(requestId)).toMatch(/^req_\w{24}$/)
          const parsed = JSON.parse(await response.text())
          const body = Array.isArray(parsed) ? parsed[0] : parsed
          expect(Array.isArray(parsed)).toBe(isArray && question === stream)
          expect(body.error.message).toContain(String(status))
          if (name.startsWith("gemini")) expect(body.error.code).toBe(status)
          if (name.startsWith("anthropic"))
            expect(body).toMatchObject({ type: "error", request_id: response.headers.get(requestId) })
          if (status === 503) expect(body.error.status ?? body.error.type).toBe(unavailable)
          if (status === 429) expect(body.error.status ?? body.error.type).toBe(limited)
        }
      },
    )

    test("a status is requested by the model's name as well, with any other words in it", async () => {
      for (const model of ["m@status-503", "openai/gpt-4o@status-503", "claude@20240620@status-503"]) {
        expect((await simulated(questionFor(stream, model))).status).toBe(503)
        expect((await simulated(questionFor(whole, model))).status).toBe(503)
      }
    })

    test("a status is not requested by a name that only resembles one", async () => {
      for (const model of ["m@20240620", "m@status-50x", "m@status-999", "m@status-503.never", "m@"]) {
        const response = await simulated(questionFor(whole, model))
        expect(response.status).toBe(200)
        expect(await response.text()).toContain(`in place of ${model}.`)
      }
    })

    test("a status may be truncated like any answer", async () => {
      const broken = await readStream(await simulated(whole, { words: "status-500.cut-after-1" }))
      expect(broken.failure).toEqual(lost)
    })
  })

  describe("the retry delay of a 429", () => {
    const retry = async (words: string) => {
      const response = await simulated(stream, { words })
      expect(response.status).toBe(429)
      return response
    }
    test("a 429 has its delay in seconds, in milliseconds or as a date", async () => {
      expect((await retry("retry-after-7")).headers.get("retry-after")).toBe("7")
      expect((await retry("retry-after-ms-1500")).headers.get("retry-after-ms")).toBe("1500")
      const date = (await retry("retry-after-date-60")).headers.get("retry-after") ?? ""
      expect(date).toEndWith(" GMT")
      expect(Date.parse(date) - Date.now()).toBeWithin(57_000, 61_000)
    })

    test("429 has the limit headers of both vendors", async () => {
      const openai = (await retry("x-ratelimit-90")).headers
      expect(openai.get("x-ratelimit-reset-requests")).toBe("1m30s")
      expect(openai.get("x-ratelimit-reset-tokens")).toBe("1m30s")
      expect(openai.get("x-ratelimit-remaining-requests")).toBe("0")
      expect((await retry("x-ratelimit-3661")).headers.get("x-ratelimit-reset-tokens")).toBe("1h1m1s")
      const anthropic = (await retry("anthropic-ratelimit-60")).headers.get("anthropic-ratelimit-requests-reset") ?? ""
      expect(anthropic).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect(Date.parse(anthropic) - Date.now()).toBeWithin(57_000, 61_000)
    })

    test("a 429 has its delay in the body for Gemini", async () => {
      const text = await (await retry("retry-info-34")).text()
      const hasRetryInfo = name.startsWith("gemini")
      expect(text.includes('"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"')).toBe(hasRetryInfo)
    })

    test("a delay may have several forms at once, and another status", async () => {
      const response = await simulated(whole, { words: "status-503.retry-after-3.retry-after-ms-2900" })
      expect(response.status).toBe(503)
      expect(response.headers.get("retry-after")).toBe("3")
      expect(response.headers.get("retry-after-ms")).toBe("2900")
    })
  })

  describe("a connection", () => {
    test.each(["cut", "reset"])("a connection that is %s before the headers fails", async (how) => {
      for (const question of [stream, whole]) {
        const answer = simulated(question, { words: `${how}-before-headers` })
        expect(await answer.catch((thrown: unknown) => thrown)).toEqual(lost)
      }
    })

    test.each(["cut", "reset"])(
      "a connection that is %s after events fails there, after those have arrived",
      async (how) => {
        for (const count of [0, 1, 3]) {
          const { chunks, failure } = await readStream(await simulated(stream, { words: `${how}-after-${count}` }))
          expect(chunks).toHaveLength(count)
          expect(failure).toEqual(lost)
        }
      },
    )

    test("a cut connection truncates a whole answer", async () => {
      const sound = await (await simulated(whole)).text()
      const response = await simulated(whole, { words: "cut-after-1" })
      expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(sound)))
      const { text, failure } = await readStream(response)
      expect(failure).toEqual(lost)
      expect(Buffer.from(sound).toString("latin1")).toStartWith(text)
      expect(text.length).toBeWithin(1, sound.length)
    })
  })

  describe("a stall", () => {
    const reason = new Error("tired of waiting")
    const soon = () => {
      const abort = new Abort()
      setTimeout(() => abort.abort(reason), 30)
      return abort
    }
    test("a stall before the headers lasts until the caller leaves", async () => {
      for (const question of [stream, whole]) {
        const begun = performance.now()
        const answer = simulated(question, { words: "stall-before-headers", abort: soon() })
        expect(await answer.catch((thrown: unknown) => thrown)).toBe(reason)
        expect(performance.now() - begun).toBeGreaterThan(25)
      }
    })

    test("a stall after the headers or after events lasts until the caller leaves", async () => {
      for (const count of [0, 2]) {
        const response = await simulated(stream, { words: `stall-after-${count}`, abort: soon() })
        expect(response.status).toBe(200)
        const { chunks, failure } = await readStream(response)
        expect(chunks).toHaveLength(count)
        expect(failure).toBe(reason)
      }
    })

    test("a stall within a whole answer lasts until the caller leaves", async () => {
      const { text, failure } = await readStream(await simulated(whole, { words: "stall-after-1", abort: soon() }))
      expect(text.length).toBeGreaterThan(1)
      expect(failure).toBe(reason)
    })
  })

  test("a stream may end cleanly without its terminal event", async () => {
    for (const count of [0, 1, 3]) {
      const { chunks, text, failure } = await readStream(await simulated(stream, { words: `end-after-${count}` }))
      expect(failure).toBeUndefined()
      expect(chunks).toHaveLength(count)
      expect(text).not.toContain(terminal)
    }
    expect((await readStream(await simulated(stream, { words: "end-after-1000" }))).text).toContain(terminal)
  })

  test("a whole answer may end cleanly and be truncated", async () => {
    const response = await simulated(whole, { words: "end-after-1" })
    const text = await response.text()
    expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(text)))
    expect(() => JSON.parse(text)).toThrow()
  })

  describe("garbage", () => {
    test("garbage replaces an event and ends the stream", async () => {
      const sound = await readStream(await simulated(stream))
      const { chunks, failure, text } = await readStream(await simulated(stream, { words: "garbage-after-2" }))
      expect(failure).toBeUndefined()
      expect(chunks).toHaveLength(3)
      expect(chunks.slice(0, 2).join("").length).toBe(sound.chunks.slice(0, 2).join("").length)
      expect(chunks[2]).toContain("\u0000\u00ff")
      expect(text).not.toContain(terminal)
    })

    test("garbage may be one event with malformed JSON", async () => {
      const sound = await readStream(await simulated(stream))
      const { chunks, text } = await readStream(await simulated(stream, { words: "broken-json-after-2" }))
      expect(chunks).toHaveLength(sound.chunks.length)
      expect(chunks[2]?.length).toBeLessThan(sound.chunks[2]?.length ?? 0)
      expect(() => eventsIn(chunks[2] ?? "")).toThrow()
      expect(text).toContain(terminal)
      if (!isArray) expect(chunks[2]).toEndWith("\n\n")
    })

    test("garbage may be a whole answer", async () => {
      for (const words of ["garbage-after-0", "broken-json-after-1"]) {
        const response = await simulated(whole, { words })
        expect(response.status).toBe(200)
        const text = await response.text()
        expect(() => JSON.parse(text)).toThrow()
      }
    })

    test("garbage may be a web page", async () => {
      for (const question of [stream, whole]) {
        const response = await simulated(question, { words: "html" })
        expect(response.status).toBe(200)
        expect(response.headers.get("content-type")).toBe("text/html")
        expect(await response.text()).toStartWith("<!DOCTYPE html>")
      }
    })
  })

  test("bytes split into pieces are the same bytes", async () => {
    const question = questionFor(stream, "grüße-😀")
    const sound = await readStream(await simulated(question))
    const timeless = (text: string) => text.replace(/"(created|created_at|completed_at)":\d+/g, "")
    for (const size of [1, 7]) {
      const { chunks, text } = await readStream(await simulated(question, { words: `split-${size}` }))
      expect(timeless(text)).toBe(timeless(sound.text))
      expect(Math.max(...chunks.map(({ length }) => length))).toBe(size)
    }
    const { chunks } = await readStream(await simulated(whole, { words: "split-10" }))
    expect(Math.max(...chunks.map(({ length }) => length))).toBe(10)
  })

  describe("an error inside a 200", () => {
    test("an error inside a 200 is sent first or after events, with nothing after it", async () => {
      for (const count of [0, 3]) {
        const response = await simulated(stream, { words: `status-503.error-after-${count}` })
        expect(response.status).toBe(200)
        const { chunks, text } = await readStream(response)
        expect(chunks).toHaveLength(count + 1)
        expect(text.includes(terminal)).toBe(isArray)
        const last = eventsIn(chunks.at(-1) ?? "")[0] ?? {}
        const error = (last.error ?? last) as Record<string, unknown>
        expect(String(error.message)).toContain("503")
        expect(error.status ?? error.code ?? error.type).toBe(name === "openai-chat" ? "server_error" : unavailable)
        if (/responses|anthropic/.test(name)) expect(chunks.at(-1)).toStartWith("event: error\n")
        if (name === "gemini-generate, events") expect(chunks.at(-1)).toStartWith('{"error":')
      }
    })

    test("an error inside a 200 may be a whole answer", async () => {
      const response = await simulated(whole, { words: "error-after-0" })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining("500") } })
    })
  })

  describe("usage", () => {
    const usageOf = async (words: string) => {
      const answer = (await (await simulated(whole, { words })).json()) as Record<string, Record<string, unknown>>
      return answer[member]
    }
    /** The usage of each event that has some, in order. */
    const usagesIn = (text: string) =>
      eventsIn(text).flatMap((event) => {
        const holders = [event, event.message, event.response] as (Record<string, unknown> | undefined)[]
        return holders.flatMap((holder) => (holder?.[member] as Record<string, unknown> | undefined) ?? [])
      })
    const streamed = async (words: string) => (await readStream(await simulated(stream, { words }))).text

    test("usage can be left out", async () => {
      expect(await usageOf("usage-missing")).toBeUndefined()
      const text = await streamed("usage-missing")
      expect(usagesIn(text)).toEqual([])
      expect(text).toContain(terminal)
    })

    test.each([
      ["zero", 0],
      ["huge", 1e12],
      ["text", "NaN"],
    ] as const)("usage may be %s", async (fault, value) => {
      expect(await usageOf(`usage-${fault}`)).toMatchObject({ [input]: value, [output]: value })
      expect(usagesIn(await streamed(`usage-${fault}`)).at(-1)).toMatchObject({ [input]: value, [output]: value })
    })

    test("usage may be negative", async () => {
      const sound = await usageOf("split-1000")
      const negative = { [input]: -Number(sound?.[input]) - 1, [output]: -Number(sound?.[output]) - 1 }
      expect(await usageOf("usage-negative")).toMatchObject(negative)
      expect(usagesIn(await streamed("usage-negative")).at(-1)).toMatchObject(negative)
    })

    test("usage may be sent twice", async () => {
      const sound = usagesIn(await streamed("tokens-per-second-1000000"))
      const twice = usagesIn(await streamed("usage-twice"))
      expect(twice).toEqual([...sound, ...sound.slice(-1)])
      const text = await (await simulated(whole, { words: "usage-twice" })).text()
      expect(text.split(`"${member}":`)).toHaveLength(3)
      expect(JSON.parse(text)[member]).toEqual(await usageOf("split-1000"))
    })

    test("usage may be sent after the end", async () => {
      const { chunks } = await readStream(await simulated(stream, { words: "usage-after-end" }))
      const before = chunks.slice(0, -1).join("")
      expect(before).toContain(terminal)
      expect(usagesIn(before)).toEqual([])
      expect(usagesIn(chunks.at(-1) ?? "")).toHaveLength(1)
    })
  })

  test("unknown words are rejected", async () => {
    const response = await simulated(whole, { words: "status-503,cut" })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain("x-simulate")
  })

  test("words of the name and of the header are combined", async () => {
    const { chunks, failure } = await readStream(
      await simulated(questionFor(stream, "m@cut-after-2"), { words: "split-5" }),
    )
    expect(failure).toEqual(lost)
    expect(chunks.every(({ length }) => length <= 5)).toBe(true)
  })

  test("two simulators with one seed answer the same calls alike, each with an id of its own", async () => {
    const timeless = (text: string) => text.replace(/"(created|created_at|completed_at)":\d+/g, "")
    const three = async () => {
      const send = createSimulator({ seed: "seven" })
      const answers: string[] = []
      for (let at = 0; at < 3; at++) answers.push(timeless(await (await simulated(whole, { send })).text()))
      return answers
    }
    const answers = await three()
    expect(await three()).toEqual(answers)
    expect(new Set(answers).size).toBe(3)
  })
})
