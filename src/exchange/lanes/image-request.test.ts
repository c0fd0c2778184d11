import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { ImageRequest, ImageResponse } from "../../canonical/image.ts"
import type { SettingFate } from "../../canonical/setting-fates.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { ImagePaths, ImageUpstream } from "../../protocols/image-codec.ts"
import { countsOf, encodeImages, joinImageResponses } from "./image-request.ts"

const destiny = (fate: SettingFate) => ({ fate, note: "there is no such member" })

const places: ImagePaths = {
  ...{ count: "n", form: "response_format", size: "size", quality: "quality", format: "output_format" },
  ...{ compression: "output_compression", background: "background", endUser: "user" },
}

const upstream: ImageUpstream = {
  fates: {
    ...{ size: destiny("mapped"), quality: destiny("dropped"), format: destiny("mapped") },
    ...{ compression: destiny("mapped"), background: destiny("refused"), endUser: destiny("dropped") },
  },
  mostAtOnce: () => 2,
  takesForm: () => false,
  operationFor: () => ({ operation: "draw", path: "/draw", headers: {} }),
  encodeRequest: ({ count }) => ({ count }),
  decodeResponse: () => undefined,
  decodeError: () => new GatewayError("upstream_unavailable", "No."),
}

const encode = (request: Partial<ImageRequest>) =>
  encodeImages({ prompt: "x", count: 1, settings: {}, ...request }, { upstream, model: "m", speaks: false, places })

function refusal(request: Partial<ImageRequest>): unknown {
  try {
    return encode(request)
  } catch (thrown) {
    return thrown instanceof GatewayError ? [thrown.code, thrown.param] : thrown
  }
}

describe("an image request", () => {
  test("an image request is split into as few calls as possible, for all of its images", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 12 }), (count, most) => {
        const counts = countsOf(count, most)
        expect(counts.reduce((sum, each) => sum + each, 0)).toBe(count)
        expect(counts).toHaveLength(Math.ceil(count / most))
        for (const each of counts) expect(each >= 1 && each <= most).toBeTrue()
      }),
    )
  })

  test("a lost image setting is reported once for all calls, by the caller's name for it", () => {
    const { bodies, losses } = encode({ count: 5, settings: { quality: "high", endUser: "u" } })
    expect(bodies).toEqual([{ count: 2 }, { count: 2 }, { count: 1 }])
    expect(losses.map(({ path, weight }) => [path, weight])).toEqual([
      ["quality", "meaning"],
      ["user", "hint"],
    ])
  })

  test("a setting that equals the host's default is no loss", () => {
    expect(encode({ settings: { quality: "standard", background: "opaque" } }).losses).toEqual([])
  })

  test("an image setting that cannot be translated is rejected by the caller's name for it", () => {
    expect(refusal({ settings: { background: "transparent" } })).toEqual(["unsupported_parameter", "background"])
    expect(refusal({ count: 33 })).toEqual(["invalid_parameter", "n"])
  })
})

describe("the responses of several image calls", () => {
  const bucket = fc.option(fc.nat(1_000_000), { nil: undefined })
  const some = fc.record({ input: bucket, imageOutput: bucket, output: bucket }).map((usage): Usage => {
    return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined))
  })
  const response = fc.record({
    images: fc.array(
      fc.webUrl().map((url) => ({ source: { at: "url", url } as const })),
      { maxLength: 3 },
    ),
    usage: fc.option(some, { nil: undefined }),
  })

  test("images of several calls are one answer in order, with the sum of their usage or none if one is unknown", () => {
    fc.assert(
      fc.property(fc.array(response, { minLength: 1, maxLength: 6 }), (several) => {
        const joined = joinImageResponses(several as ImageResponse[])
        expect(joined.images).toEqual(several.flatMap(({ images }) => images))
        if (several.some(({ usage }) => usage === undefined)) return expect(joined.usage).toBeUndefined()
        for (const name of ["input", "imageOutput", "output"] as const) {
          const reported = several.flatMap(({ usage }) => usage?.[name] ?? [])
          const sum = reported.length === 0 ? undefined : reported.reduce((all, each) => all + each, 0)
          expect(joined.usage?.[name]).toBe(sum)
        }
      }),
    )
  })
})
