import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { base64Of, floatsOf, vectorIn, vectorsIn } from "./embedding.ts"

const number = fc.float({ noNaN: true, noDefaultInfinity: true, min: -9e8, max: 9e8 })
const vector = fc.array(number, { minLength: 1, maxLength: 20 })

describe("a vector", () => {
  test("a vector of 32-bit floats is the same in numbers and in base64", () => {
    fc.assert(
      fc.property(vector, (numbers) => {
        const packed = base64Of(numbers)
        expect(floatsOf(packed)).toEqual(numbers)
        expect(base64Of(floatsOf(packed))).toBe(packed)
        expect(vectorIn(packed)).toBe(packed)
      }),
    )
  })

  test("a vector in base64 is little-endian", () => {
    expect(base64Of([1, -2])).toBe("AACAPwAAAMA=")
    expect(floatsOf("AACAPwAAAMA=")).toEqual([1, -2])
  })

  test("a vector of one-byte integers is not read as floats", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -128, max: 127 }), { minLength: 256, maxLength: 1024 }), (numbers) => {
        expect(vectorIn(Buffer.from(Int8Array.from(numbers)).toString("base64"))).toEqual(numbers)
      }),
    )
  })

  test("a vector of numbers stays as it was written", () => {
    expect(floatsOf([0.1, 1e-9])).toEqual([0.1, 1e-9])
  })

  test("a value that is neither numbers nor base64 is not a vector", () => {
    for (const value of [null, 5, {}, [], ["x"], [1, null], "", "AAA", "AACAPw==AA", "not base64"]) {
      expect([value, vectorIn(value)]).toEqual([value, undefined])
    }
  })

  test("one missing vector makes the whole list invalid", () => {
    expect(vectorsIn([[1], "AACAPw=="])).toEqual([[1], "AACAPw=="])
    expect(vectorsIn([[1], undefined])).toBeUndefined()
    expect(vectorsIn([])).toBeUndefined()
  })
})
