import { expect, test } from "bun:test"
import { inspect } from "node:util"
import { Secret } from "./secret.ts"

const secret = new Secret("sk-do-not-print")

test("a secret returns its value only from reveal()", () => {
  expect(secret.reveal()).toBe("sk-do-not-print")
})

test("a secret prints as [secret] in every conversion to text", () => {
  expect(String(secret)).toBe("[secret]")
  expect(`key: ${secret}`).toBe("key: [secret]")
  expect(JSON.stringify({ key: secret })).toBe('{"key":"[secret]"}')
  expect(inspect({ key: secret })).toBe("{ key: [secret] }")
  expect(inspect(secret, { showHidden: true, depth: 9 })).not.toContain("sk-")
  expect(Bun.inspect({ deep: { key: secret } })).not.toContain("sk-")
})

test("a secret has no property that holds its value", () => {
  expect(Object.values({ ...secret })).toEqual([])
  expect(Reflect.ownKeys(secret)).toEqual([])
})
