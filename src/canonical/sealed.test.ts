import { expect, test } from "bun:test"
import fc from "fast-check"
import { encloseSeal, openSeal } from "./sealed.ts"

const wellFormed = fc.string({ unit: "grapheme" })

test("a seal comes back whole out of its envelope, which any opaque slot takes", () => {
  fc.assert(
    fc.property(wellFormed, wellFormed, (mintedBy, data) => {
      const envelope = encloseSeal({ mintedBy, data })
      expect(envelope).toMatch(/^[\w.-]+$/)
      expect(openSeal(envelope)).toEqual({ mintedBy, data })
    }),
  )
})

test("what is no envelope of ours is not opened", () => {
  const whole = encloseSeal({ mintedBy: "a", data: "b" })
  for (const text of ["", "EqQBCkYIAx", whole.slice(1), `${whole}.x`, whole.replace(/\.[^.]*$/, ""), `${whole}=`]) {
    expect(openSeal(text)).toBeUndefined()
  }
})
