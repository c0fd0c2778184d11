// Laws of every image protocol: no setting is lost silently, and images are decoded unchanged.
import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import type { ImageRequest, ImageSettings } from "../../src/canonical/image.ts"
import { encodeImages } from "../../src/exchange/lanes/image-request.ts"
import { codecs } from "../../src/protocols.ts"

const wires = [...(codecs.image?.upstream ?? [])]
const places = codecs.image?.ingress.get("openai-images")?.settingPaths
if (!places) throw new Error("there is no codec for openai-images")

/** Each value differs from the default. */
const SETTINGS: Required<ImageSettings> = {
  size: { width: 1536, height: 1024 },
  quality: "high",
  format: "jpeg",
  compression: 70,
  background: "transparent",
  endUser: "u",
}

const MODELS = ["dall-e-2", "imagen-4.0-generate-001", "gemini-3-pro-image", "a/b"]

describe.each(wires)("%s", (_, upstream) => {
  const encode = (model: string, more: Partial<ImageRequest>) => {
    const request = { prompt: "a fox", count: 1, settings: {}, ...more }
    return encodeImages(request, { upstream, model, speaks: true, places })
  }
  const bodyOf = (model: string, more: Partial<ImageRequest> = {}) => JSON.stringify(encode(model, more).bodies)

  test.each(Object.keys(SETTINGS) as (keyof ImageSettings)[])(
    "the setting %s is encoded, reported as a loss, or rejected",
    (name) => {
      for (const model of MODELS) {
        const settings = { [name]: SETTINGS[name] }
        try {
          const isEncoded = bodyOf(model, { settings }) !== bodyOf(model)
          const isNamed = encode(model, { settings }).losses.some(({ path }) => path === places[name])
          expect([model, isEncoded || isNamed]).toEqual([model, true])
        } catch (thrown) {
          if (!(thrown instanceof GatewayError)) throw thrown
          expect([thrown.code, thrown.param]).toEqual(["unsupported_parameter", places[name]])
        }
      }
    },
  )

  test("the prompt is encoded, and the count if the model draws several", () => {
    for (const model of MODELS) {
      expect(bodyOf(model)).toContain('"a fox"')
      const most = upstream.mostAtOnce(model)
      expect(encode(model, { count: 2 }).bodies).toHaveLength(most === 1 ? 2 : 1)
      if (most > 1) expect(bodyOf(model, { count: 2 })).not.toBe(bodyOf(model))
    }
  })

  test("the response format is encoded exactly if the model accepts one", () => {
    for (const model of MODELS) {
      const forms = (["url", "bytes"] as const).map((form) => bodyOf(model, { form }))
      expect(new Set(forms).size).toBe(upstream.takesForm(model) ? 2 : 1)
    }
  })

  test("an unknown member is encoded or reported as a loss", () => {
    const extra = { protocol: "openai-images", members: { odd: { a: 1 }, nothing: null } }
    for (const model of MODELS) {
      const { bodies, losses } = encode(model, { extra })
      const isEncoded = JSON.stringify(bodies).includes('"odd":{"a":1}')
      expect([isEncoded, losses.map(({ path }) => path)]).toEqual([isEncoded, isEncoded ? [] : ["odd"]])
    }
  })

  test("an error is not decoded as images", () => {
    expect(upstream.decodeResponse({ error: { code: 500, message: "Oops.", status: "INTERNAL" } })).toBeUndefined()
    expect(upstream.decodeError({ status: 503, body: "" }).code).toBe("upstream_unavailable")
  })
})
