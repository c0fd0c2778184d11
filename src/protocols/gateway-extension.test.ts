import { describe, expect, test } from "bun:test"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { Json } from "../canonical/json.ts"
import { runFieldChecks } from "../canonical/schema/field-mismatch.ts"
import { readRouting } from "./gateway-extension.ts"

const read = (provider: Json | undefined) => runFieldChecks(() => readRouting(provider))

function refusal(provider: Json): { code: string; message: string; param: string | undefined } {
  try {
    read(provider)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { code: thrown.code, message: thrown.message, param: thrown.param }
  }
  throw new Error("it was not refused")
}

describe("the `provider` object", () => {
  test("`provider` may be absent, null or empty, and so may its members", () => {
    for (const provider of [undefined, null, {}, { order: null, max_price: null, hedge: null, fallback: [] }]) {
      expect(read(provider)).toEqual({ fallback: [] })
    }
  })

  test("all members of `provider` are read", () => {
    const wishes = {
      routing: "cost",
      fallback: ["a/b"],
      strict: true,
      order: ["one", "two"],
      only: ["one", "two", "three"],
      ignore: ["four"],
      max_price: { prompt: 2, completion: "7.50" },
      require_parameters: true,
      hedge: true,
      explain: true,
      report: true,
    }
    expect(read(wishes)).toEqual({
      strategy: "cost",
      fallback: ["a/b"],
      strict: true,
      order: ["one", "two"],
      only: ["one", "two", "three"],
      ignore: ["four"],
      maxPrice: { prompt: 2, completion: 7.5 },
      requireParameters: true,
      hedge: true,
      explain: true,
      report: true,
    })
  })

  test("`provider` options that are false or an empty list have no effect", () => {
    const empty = { order: [], only: [], ignore: [] }
    const refused = { strict: false, require_parameters: false, explain: false, report: false }
    expect(read({ ...empty, ...refused })).toEqual({ fallback: [] })
  })

  test("a hedge that is false is kept, because the key's default may enable it", () => {
    expect(read({ hedge: false })).toEqual({ fallback: [], hedge: false })
  })

  test("a price limit may be zero, and may limit only one price", () => {
    expect(read({ max_price: { prompt: 0 } }).maxPrice).toEqual({ prompt: 0 })
    expect(read({ max_price: { completion: "0.000001" } }).maxPrice).toEqual({ completion: 0.000001 })
    expect(read({ max_price: {} }).maxPrice).toEqual({})
  })

  test.each(["order", "only", "ignore"])(
    "a value of %s that is not a list of provider ids is refused with its path",
    (name) => {
      const message = (path: string, expected: string) => ({
        code: "invalid_parameter",
        message: `\`${path}\` must be ${expected}.`,
        param: path,
      })
      expect(refusal({ [name]: "openai" })).toEqual(message(`provider.${name}`, "an array"))
      expect(refusal({ [name]: ["a", ""] })).toEqual(message(`provider.${name}[1]`, "a string that is not empty"))
      expect(refusal({ [name]: [null] })).toEqual(message(`provider.${name}[0]`, "a string that is not empty"))
      expect(refusal({ [name]: Array(51).fill("a") })).toEqual(message(`provider.${name}`, "at most 50 provider ids"))
      expect(read({ [name]: Array(50).fill("a") })).toHaveProperty(name)
    },
  )

  test.each(["strict", "require_parameters", "hedge", "explain", "report"])(
    "a value of %s that is not a boolean is refused",
    (name) => {
      for (const value of ["true", 1, {}, []]) {
        expect(refusal({ [name]: value }).message).toBe(`\`provider.${name}\` must be true or false.`)
      }
    },
  )

  test.each([["two"], ["-1"], [-0.1], ["1e3"], [""], [true], [["1"]], [{ usd: 1 }]])(
    "the price limit %p is refused",
    (price) => {
      for (const name of ["prompt", "completion"]) {
        expect(refusal({ max_price: { [name]: price } })).toEqual({
          code: "invalid_parameter",
          message: `\`provider.max_price.${name}\` must be a price in USD per million tokens, such as 2.5 or "2.5".`,
          param: `provider.max_price.${name}`,
        })
      }
    },
  )

  test("OpenRouter's members for sorting and fallbacks are accepted", () => {
    expect(read({ sort: "price" })).toEqual({ strategy: "cost", fallback: [] })
    expect(read({ sort: "latency", routing: "latency" })).toEqual({ strategy: "latency", fallback: [] })
    expect(read({ allow_fallbacks: true })).toEqual({ fallback: [] })
    expect(read({ allow_fallbacks: false })).toEqual({ allowFallbacks: false, fallback: [] })
    expect(read({ allow_fallbacks: false, order: ["a", "b"] })).toEqual({
      order: ["a", "b"],
      only: ["a", "b"],
      fallback: [],
    })
    expect(refusal({ sort: "throughput" }).message).toContain("`price` or `latency`")
    expect(refusal({ sort: "price", routing: "quality" }).param).toBe("provider.sort")
    for (const name of ["data_collection", "zdr", "quantizations", "preferred_max_latency"]) {
      expect(refusal({ [name]: "x" })).toMatchObject({ code: "unsupported_parameter", param: `provider.${name}` })
      expect(refusal({ [name]: "x" }).message).toMatch(/`provider\.(only|routing)/)
    }
  })

  test("unknown members of `provider` are refused with a list of the known ones", () => {
    expect(refusal({ speed: "fast" }).message).toBe(
      "`provider.speed` is not a member of the routing extension. It has: routing, fallback, strict, order, only, ignore, max_price, require_parameters, hedge, explain, report, sort, allow_fallbacks.",
    )
    expect(refusal({ max_price: { image: 1 } })).toEqual({
      code: "invalid_parameter",
      message: "`provider.max_price.image` is not a member of the routing extension. It has: prompt, completion.",
      param: "provider.max_price.image",
    })
    expect(refusal({ ["x".repeat(5000)]: 1 }).message.length).toBeLessThan(500)
    expect(refusal({ max_price: 5 }).message).toBe("`provider.max_price` must be an object.")
  })
})
