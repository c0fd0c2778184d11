// The codec of OpenAI's images against recorded exchanges.
import { expect, test } from "bun:test"
import { isObject } from "../../src/canonical/json.ts"
import { openaiImages } from "../../src/protocols/images/openai-images/openai-images.ts"
import { codecs } from "../../src/protocols.ts"
import { recordings, sampleSize } from "./recorded.ts"

const upstream = codecs.image?.upstream.get(openaiImages.id)
const ingress = codecs.image?.ingress.get(openaiImages.id)

test("a recorded request is decoded and encoded unchanged", () => {
  const bodies = recordings("images").flatMap(({ request }) => (isObject(request?.body) ? [request.body] : []))
  expect(bodies.length).toBeGreaterThanOrEqual(sampleSize(2))
  for (const body of bodies) {
    const read = ingress?.decodeRequest(body)
    const model = String(body.model)
    expect(read && upstream?.encodeRequest(read, { model, returnsText: false, losses: [] })).toEqual(body)
  }
})

test("a recorded answer has the requested images, and its error is the caller's", () => {
  for (const { status, request, response, source } of recordings("images")) {
    if (!isObject(response.body)) continue
    if (status >= 400) {
      const error = upstream?.decodeError({ status, body: JSON.stringify(response.body) })
      expect([source, error?.code, error?.param]).toEqual([source, "unsupported_parameter", "quality"])
      continue
    }
    const decoded = upstream?.decodeResponse(response.body)
    expect([source, decoded?.images.length]).toEqual([source, request?.body?.n as number])
    expect(decoded && ingress?.encodeResponse(decoded, { form: undefined, unixTime: 1 }).data).toEqual(
      response.body.data ?? null,
    )
  }
})
