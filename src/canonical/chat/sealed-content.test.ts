import { expect, test } from "bun:test"
import fc from "fast-check"
import { encloseSeal, mayHoldSeal, openSeal, type SealedContent } from "./sealed-content.ts"

const name = fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => text.replaceAll("\0", ""))
const seals: fc.Arbitrary<SealedContent> = fc.record({
  mintedBy: name,
  data: fc.string({ unit: "grapheme", maxLength: 60 }),
})

/** An envelope as earlier releases wrote it. */
const earlier = ({ mintedBy, data }: SealedContent) =>
  `trv-seal-1.${[mintedBy, data].map((word) => Buffer.from(word).toString("base64url")).join(".")}`

test("an envelope is padded standard base64 and returns its content", () => {
  fc.assert(
    fc.property(seals, (sealed) => {
      const envelope = encloseSeal(sealed)
      expect(envelope).toMatch(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)
      expect(openSeal(envelope)).toEqual(sealed)
      expect(mayHoldSeal(JSON.stringify({ signature: envelope }))).toBe(true)
    }),
  )
})

test("an envelope that a library decoded and encoded again can be opened, in either alphabet", () => {
  fc.assert(
    fc.property(seals, (sealed) => {
      const bytes = Buffer.from(encloseSeal(sealed), "base64")
      const urlSafe = bytes.toString("base64").replaceAll("+", "-").replaceAll("/", "_")
      for (const text of [urlSafe, bytes.toString("base64url")]) {
        expect(openSeal(text)).toEqual(sealed)
        expect(mayHoldSeal(text)).toBe(true)
      }
    }),
  )
})

test("an envelope of an earlier release can be opened", () => {
  fc.assert(
    fc.property(seals, (sealed) => {
      expect(openSeal(earlier(sealed))).toEqual(sealed)
      expect(mayHoldSeal(earlier(sealed))).toBe(true)
    }),
  )
})

test("other texts are not envelopes", () => {
  const whole = encloseSeal({ mintedBy: "a", data: "b" })
  const old = earlier({ mintedBy: "a", data: "b" })
  const others = [
    "",
    "c2VhbA==",
    whole.slice(0, 12),
    `x${whole}`,
    `${whole}!`,
    whole.slice(0, 16),
    `${old}.x`,
    `${old}!`,
  ]
  for (const text of others) expect(openSeal(text)).toBeUndefined()
  fc.assert(fc.property(fc.base64String(), (text) => expect(openSeal(text)).toBeUndefined()))
})
