// One declaration of the gateway's own members: its bounds are those of the validator, the type and the description.
import { describe, expect, test } from "bun:test"
import type { RoutingStrategy } from "../canonical/chat/chat-request.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { object, optional } from "../canonical/schema/object-schema.ts"
import { integer, list, oneOf, type SchemaValue } from "../canonical/schema/value-schema.ts"
import { violations } from "../simulator/schema/schema-check.fixture.ts"
import { fallbackListSchemas, type RoutingInput, routingSchema } from "./routing-schema.ts"

const { properties } = routingSchema.jsonSchema as { properties: Readonly<Record<string, JsonObject>> }
const described: [string, JsonObject][] = [
  ...Object.entries(properties),
  ...Object.entries(fallbackListSchemas).map(([name, { jsonSchema }]): [string, JsonObject] => [name, jsonSchema]),
]

function accepts(name: string, value: Json): boolean {
  const schema = { ...fallbackListSchemas }[name]
  try {
    if (schema) schema.read(value)
    else routingSchema.read({ [name]: value })
    return true
  } catch {
    return false
  }
}

describe("the declaration of `provider`", () => {
  const lists = described.flatMap(([name, { maxItems }]) => (typeof maxItems === "number" ? [{ name, maxItems }] : []))
  test.each(lists)("the validator accepts $maxItems entries of `$name`, as described, and no more", (bound) => {
    expect(accepts(bound.name, Array(bound.maxItems).fill("a"))).toBe(true)
    expect(accepts(bound.name, Array(bound.maxItems + 1).fill("a"))).toBe(false)
  })

  const words = described.flatMap(([name, member]) =>
    Array.isArray(member.enum) ? [{ name, words: member.enum }] : [],
  )
  test.each(words)("the validator accepts exactly the described words of `$name`", ({ name, words: known }) => {
    for (const word of known) expect(accepts(name, word)).toBe(true)
    expect(accepts(name, "unheard-of")).toBe(false)
  })

  test("lists and words are bounded in the description", () => {
    expect(lists.map(({ name }) => name)).toEqual(["fallback", "order", "only", "ignore", "models", "fallbacks"])
    expect(words.map(({ name }) => name)).toEqual(["routing", "sort"])
  })

  test("the input's type is inferred from the declaration", () => {
    const strategy: RoutingInput["routing"] = "cost" satisfies RoutingStrategy
    const input: RoutingInput = { routing: strategy, order: ["a"], max_price: { prompt: 1 } }
    expect(routingSchema.read(input)).toEqual(input)
    // @ts-expect-error: not a strategy
    const other: RoutingInput = { routing: "speed" }
    // @ts-expect-error: not a member
    const unknown: RoutingInput = { speed: "fast" }
    for (const odd of [other, unknown]) expect(() => routingSchema.read(odd)).toThrow()
  })
})

test("a bound that changes in the declaration changes in validator, description and type", () => {
  const declare = <const Word extends string>(most: number, known: readonly Word[]) =>
    object({ times: optional(integer({ min: 1, max: most })), words: optional(list(oneOf(known), { max: most })) })
  const narrow = declare(2, ["a"])
  const wide = declare(3, ["a", "b"])
  const input: SchemaValue<typeof wide> = { times: 3, words: ["a", "b", "b"] }
  // @ts-expect-error: the narrow declaration has one word
  const misfit: SchemaValue<typeof narrow> = input
  expect(wide.read(misfit as JsonObject)).toEqual(input)
  expect(violations(input as JsonObject, wide.jsonSchema)).toEqual([])
  expect(() => narrow.read(input as JsonObject)).toThrow()
  expect(violations(input as JsonObject, narrow.jsonSchema).length).toBeGreaterThan(0)
  expect(isObject(narrow.jsonSchema.properties) && narrow.jsonSchema.properties.times).toMatchObject({ maximum: 2 })
})
