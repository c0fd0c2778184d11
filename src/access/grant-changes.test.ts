import { beforeEach, describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../canonical/gateway-error.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type { Grant } from "../store/contract.ts"
import { AddressRanges } from "./address-ranges.ts"
import { createKeyRegistry } from "./key-registry.fixture.ts"
import type { KeyChange, KeyRegistry } from "./key-registry.ts"
import { parseUsd } from "./parse-usd.ts"
import { allowsModel, coversModels, intersectModels } from "./scope.ts"

function refusal(act: () => unknown): { code: string; param: string | undefined; message: string } | undefined {
  try {
    act()
    return undefined
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { code: thrown.code, param: thrown.param, message: thrown.message }
    throw thrown
  }
}

let keys: KeyRegistry
beforeEach(() => {
  keys = createKeyRegistry()
})

describe("a key that is changed", () => {
  test("a change of a key applies at once, and only to the named members", () => {
    const { key, text } = keys.create({ name: "a", models: ["a/*"], requestsPerMinute: 5, expiresAt: 9e15 })
    const before = keys.authenticate(text)
    keys.update(key.id, { protocols: ["openai"], tokensPerMinute: 100, keepAnswers: true, name: "b" })
    expect(keys.authenticate(text)).toEqual({
      ...before,
      name: "b",
      protocols: ["openai"],
      tokensPerMinute: 100,
      keepAnswers: true,
    })
    keys.update(key.id, { models: null, requestsPerMinute: null, expiresAt: null, keepAnswers: null })
    expect(keys.authenticate(text)).toMatchObject({
      models: null,
      requestsPerMinute: null,
      expiresAt: null,
      keepAnswers: false,
      tokensPerMinute: 100,
    })
  })

  const nonsense: readonly [KeyChange, string][] = [
    [{ protocols: ["openai", "telnet"] }, "protocols"],
    [{ requestsPerMinute: 0 }, "requests_per_minute"],
    [{ tokensPerMinute: 1.5 }, "tokens_per_minute"],
    [{ concurrentRequests: -1 }, "concurrent_requests"],
    [{ addresses: ["10.0.0.1", "10.0.0.0/33"] }, "addresses[1]"],
    [{ addresses: ["localhost"] }, "addresses[0]"],
  ]
  test.each(nonsense)("a key cannot be changed to %p", (change, param) => {
    const { key } = keys.create({ name: "a" })
    expect(refusal(() => keys.update(key.id, change))).toMatchObject({ code: "invalid_parameter", param })
    expect(refusal(() => keys.create({ name: "b", ...change }))).toMatchObject({ param })
    expect(keys.get(key.id)).toEqual(key)
    expect(keys.list()).toHaveLength(1)
  })
})

describe("a tenant", () => {
  test("a tenant that was never created has no limits", () => {
    const { text } = keys.create({ name: "a", tenant: "unknown", requestsPerMinute: 1_000_000 })
    expect(keys.authenticate(text)).toMatchObject({ tenantGrant: null, models: null })
  })

  test("a tenant is created once, and found by its name", () => {
    keys.tenants.create("acme", { requestsPerMinute: 10 })
    expect(refusal(() => keys.tenants.create("acme"))).toMatchObject({ code: "invalid_parameter", param: "name" })
    expect(keys.tenants.get("acme")).toMatchObject({ requestsPerMinute: 10, models: null })
    expect(refusal(() => keys.tenants.update("other", {}))).toMatchObject({ code: "resource_not_found" })
  })

  const bounds: readonly [Partial<Grant>, KeyChange, string, string][] = [
    [{ models: ["openai/*", "meta/llama-*"] }, { models: ["openai/gpt-4o", "anthropic/*"] }, "models", "openai/*"],
    [{ models: ["openai/gpt-4o"] }, { models: ["openai/*"] }, "models", "openai/gpt-4o"],
    [{ protocols: ["openai"] }, { protocols: ["openai-chat", "gemini"] }, "protocols", "openai"],
    [{ protocols: ["openai-chat"] }, { protocols: ["openai"] }, "protocols", "openai-chat"],
    [{ requestsPerMinute: 60 }, { requestsPerMinute: 61 }, "requests_per_minute", "60"],
    [{ tokensPerMinute: 60 }, { tokensPerMinute: 61 }, "tokens_per_minute", "60"],
    [{ concurrentRequests: 6 }, { concurrentRequests: 7 }, "concurrent_requests", "6"],
    [{ budgets: { day: 1_500_000_000n } }, { budgets: { day: 1_500_000_001n } }, "budgets.day", "1.5 USD"],
    [{ strict: true }, { strict: false }, "strict", "true"],
  ]
  test.each(bounds)("a tenant with %p refuses a key with %p, and names the bound", (grant, wish, param, bound) => {
    keys.tenants.create("acme", grant)
    const inside = keys.create({ name: "a", tenant: "acme" })
    const refused = { code: "invalid_parameter", param, message: expect.stringContaining(bound) as never }
    expect(refusal(() => keys.create({ name: "b", tenant: "acme", ...wish }))).toMatchObject(refused)
    expect(refusal(() => keys.update(inside.key.id, wish))).toMatchObject(refused)
    const outside = keys.create({ name: "c", ...wish })
    const moved = refusal(() => keys.update(outside.key.id, { tenant: "acme" }))
    if (param === "strict") expect(moved).toBeUndefined()
    else expect(moved).toMatchObject(refused)
    expect(refusal(() => keys.update(inside.key.id, { name: "d" }))).toBeUndefined()
  })

  test("narrowing a tenant narrows its keys at once, and widening it restores them", () => {
    const { text } = keys.create({ name: "a", tenant: "acme", models: ["openai/*"], requestsPerMinute: 100 })
    keys.authenticate(text)
    keys.tenants.create("acme", { models: ["*mini"], protocols: ["gemini"], strict: true, requestsPerMinute: 10 })
    const narrowed = keys.authenticate(text)
    expect(allowsModel(narrowed.models, "openai/gpt-4o-mini")).toBe(true)
    expect(allowsModel(narrowed.models, "openai/gpt-4o")).toBe(false)
    expect(allowsModel(narrowed.models, "meta/mini")).toBe(false)
    expect(narrowed).toMatchObject({ protocols: ["gemini"], strict: true, tenantGrant: { requestsPerMinute: 10 } })
    keys.tenants.update("acme", { models: null, protocols: null, strict: false })
    expect(keys.authenticate(text)).toMatchObject({ models: ["openai/*"], protocols: null, strict: false })
  })
})

describe("patterns", () => {
  const piece = fc.constantFrom("a", "b", "ab", "ba", "*", "/")
  const pattern = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(""))
  const model = fc.string({ unit: fc.constantFrom("a", "b", "/", "c"), maxLength: 8 })
  const list = fc.oneof(fc.constant(null), fc.array(pattern, { maxLength: 4 }))

  test("a pattern covers another exactly if it matches everything that the other one does", () => {
    fc.assert(
      fc.property(
        pattern,
        pattern,
        fc.array(fc.string({ unit: fc.constantFrom("a", "b", "/", "#") }), { maxLength: 5 }),
        (outer, inner, fills) => {
          let at = 0
          const name = inner.replace(/\*/g, () => fills[at++] ?? "#")
          if (coversModels(outer, inner)) expect(allowsModel([outer], name)).toBe(true)
          else expect(allowsModel([outer], inner.replaceAll("*", "#"))).toBe(false)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test("the intersection of pattern lists allows exactly what all of them allow", () => {
    fc.assert(
      fc.property(list, list, list, model, (own, outer, outermost, name) => {
        const both = intersectModels(own, outer)
        expect(allowsModel(both, name)).toBe(allowsModel(own, name) && allowsModel(outer, name))
        const all = intersectModels(both, outermost)
        expect(allowsModel(all, name)).toBe(allowsModel(both, name) && allowsModel(outermost, name))
      }),
      { numRuns: 2000 },
    )
  })
})

describe("addresses", () => {
  test.each([
    [["10.0.0.0/8"], "10.255.0.1", true],
    [["10.0.0.0/8"], "11.0.0.1", false],
    [["127.0.0.1"], "127.0.0.1", true],
    [["127.0.0.1"], "127.0.0.2", false],
    [["2001:db8::/32", "10.0.0.1/32"], "2001:db8:ffff::1", true],
    [["2001:db8::/32", "10.0.0.1/32"], "2001:db9::1", false],
    [["0.0.0.0/0"], "::1", false],
    [["::/0"], "::1", true],
    [["0.0.0.0/0"], "not an address", false],
    [[], "10.0.0.1", false],
  ])("the address ranges %p contain %p: %p", (ranges, address, held) => {
    expect(new AddressRanges(ranges).holds(address)).toBe(held)
  })
})

describe("amounts", () => {
  test("amounts are parsed exactly, to the last nano-USD", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 99_999_999_999_999_999n }), (nanoUsd) => {
        expect(parseUsd(usdOfNano(nanoUsd), "usd")).toBe(nanoUsd)
      }),
    )
    expect(parseUsd("12.50", "usd")).toBe(12_500_000_000n)
    expect([usdOfNano(0n), usdOfNano(1n), usdOfNano(-1_500_000_000n)]).toEqual(["0", "0.000000001", "-1.5"])
  })

  test.each(["", "-1", "1e3", "1,5", " 1", "1.", ".5", "0.0000000001", "100000000", "NaN"])(
    "the amount %p is refused",
    (text) => {
      expect(refusal(() => parseUsd(text, "budgets.day"))).toMatchObject({ param: "budgets.day" })
    },
  )
})
