import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import { ingress, upstream } from "./codec.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

const context = { model: "dall-e-2", returnsText: false, losses: [] }

describe("a request", () => {
  test("a request decodes and encodes to the same, including unknown members", () => {
    const side = fc.integer({ min: 1, max: 4096 })
    const request = fc.record(
      {
        prompt: fc.string({ minLength: 1 }),
        n: fc.integer({ min: 1, max: 10 }),
        size: fc.tuple(side, side).map(([width, height]) => `${width}x${height}`),
        quality: fc.constantFrom("low", "hd", "standard"),
        response_format: fc.constantFrom("url", "b64_json"),
        output_format: fc.constantFrom("png", "jpeg", "webp"),
        output_compression: fc.integer({ min: 0, max: 100 }),
        background: fc.constantFrom("transparent", "opaque"),
        user: fc.string(),
        style: fc.constant("vivid"),
        odd: fc.array(fc.integer()),
      },
      { requiredKeys: ["prompt", "n"] },
    )
    fc.assert(
      fc.property(request, (body) => {
        const read = ingress.decodeRequest({ model: "a/b", provider: {}, ...body } as JsonObject)
        expect(upstream.encodeRequest(read, context)).toEqual({ model: "dall-e-2", ...body } as JsonObject)
      }),
    )
  })

  test("settings with the value auto are decoded as absent", () => {
    const read = ingress.decodeRequest({ prompt: "x", size: "auto", quality: "auto", background: "auto", n: null })
    expect(read).toEqual({ prompt: "x", count: 1, settings: {} })
  })

  test("the response form is not sent to models that refuse it", () => {
    const read = ingress.decodeRequest({ prompt: "x", response_format: "url" })
    expect(upstream.encodeRequest(read, { ...context, model: "gpt-image-1" })).toEqual({
      model: "gpt-image-1",
      prompt: "x",
      n: 1,
    })
    expect([upstream.mostAtOnce("gpt-image-1"), upstream.mostAtOnce("dall-e-3")]).toEqual([10, 1])
  })

  test.each([
    ["size", "large"],
    ["size", "0x5"],
    ["output_format", "tiff"],
    ["output_format", "constructor"],
    ["background", "green"],
  ])("a request with %s %s is refused", (param, value) => {
    const read = () => ingress.decodeRequest({ prompt: "x", [param]: value })
    expect(read).toThrow(GatewayError)
    expect(read).toThrow(`\`${param}\` must be`)
  })
})

describe("an answer", () => {
  const images = [
    { source: { at: "inline", mediaType: "image/jpeg", base64: "/9j/" }, revisedPrompt: "a fox" },
    { source: { at: "url", url: "https://a.example/x.png" } },
  ] as const

  test.each([
    [undefined, [{ b64_json: "/9j/", revised_prompt: "a fox" }, { url: "https://a.example/x.png" }]],
    ["bytes", [{ b64_json: "/9j/", revised_prompt: "a fox" }, { url: "https://a.example/x.png" }]],
    ["url", [{ url: "data:image/jpeg;base64,/9j/", revised_prompt: "a fox" }, { url: "https://a.example/x.png" }]],
  ] as const)("a response has images in the requested form: %s", (form, data) => {
    expect(ingress.encodeResponse({ images }, { form, unixTime: 5 })).toEqual({ created: 5, data: [...data] })
  })

  test("a response decodes and encodes to the same, except for members that are not about its images", () => {
    const body = { data: [{ b64_json: "/9j/" }], size: "1024x1024", output_format: "jpeg", id: "x", model: "upstream" }
    const read = upstream.decodeResponse(body)
    if (!read) throw new Error("it is an answer")
    expect(ingress.encodeResponse(read, { form: undefined, unixTime: 5 })).toEqual({
      created: 5,
      data: [{ b64_json: "/9j/" }],
      size: "1024x1024",
      output_format: "jpeg",
    })
    expect(upstream.decodeResponse({ error: { message: "No." } })).toBeUndefined()
  })

  test("the usage of a response is kept as reported", () => {
    const count = fc.nat()
    const usage = fc.record({ input: count, imageInput: count, output: count, imageOutput: count })
    fc.assert(fc.property(usage, (used) => expect(decodeUsage(encodeUsage(used))).toEqual(used)))
  })
})
