import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { GatewayError } from "../canonical/gateway-error.ts"
import { Secret } from "../config/secret.ts"
import { createKeyRegistry, fakeKeyTable, type KeyRows, SECRETS } from "./key-registry.fixture.ts"
import type { KeyRegistry } from "./key-registry.ts"
import { isKeyText, mintKey } from "./key-text.ts"
import { allowsModel } from "./scope.ts"
import { loadHashingSecrets } from "./secrets/hashing-secret.ts"

function codeOf(act: () => unknown): string {
  try {
    act()
    return "ok"
  } catch (thrown) {
    return thrown instanceof GatewayError ? thrown.code : String(thrown)
  }
}

describe("a key's text", () => {
  test("a key's text is recognised, and one changed character is detected", () => {
    const key = mintKey()
    expect(isKeyText(key)).toBe(true)
    fc.assert(
      fc.property(fc.nat(key.length - 1), fc.constantFrom(..."0aZ_"), (at, character) => {
        const changed = key.slice(0, at) + character + key.slice(at + 1)
        expect(isKeyText(changed)).toBe(changed === key)
      }),
    )
  })

  test("no two generated keys are equal", () => {
    expect(new Set(Array.from({ length: 1000 }, mintKey)).size).toBe(1000)
  })
})

describe("keys", () => {
  let now = 1_000_000
  let table: KeyRows
  let keys: KeyRegistry
  beforeEach(() => {
    now = 1_000_000
    table = fakeKeyTable()
    keys = createKeyRegistry({ table, now: () => now })
  })

  test("a created key is authenticated, and its text is not in the store", () => {
    const { key, text } = keys.create({ name: "a", models: ["openai/*"] })
    expect(keys.authenticate(text)).toMatchObject({ id: key.id, name: "a", tenant: "default", models: ["openai/*"] })
    expect(JSON.stringify([...table.rows.values()])).not.toContain(text.slice(4, 40))
  })

  test("a text that is not an API key is rejected", () => {
    expect(codeOf(() => keys.authenticate("sk-abc"))).toBe("invalid_api_key")
    expect(codeOf(() => keys.authenticate(mintKey()))).toBe("invalid_api_key")
  })

  test("a key is rejected after its expiry date", () => {
    const { text } = keys.create({ name: "a", expiresAt: now + 10 })
    expect(codeOf(() => keys.authenticate(text))).toBe("ok")
    now += 10
    expect(codeOf(() => keys.authenticate(text))).toBe("expired_api_key")
  })

  test("a revoked key is rejected at once, even if it was just used", () => {
    const { key, text } = keys.create({ name: "a" })
    keys.authenticate(text)
    keys.revoke(key.id)
    expect(codeOf(() => keys.authenticate(text))).toBe("revoked_api_key")
    const at = keys.revoke(key.id).revokedAt
    now += 5
    expect(keys.revoke(key.id).revokedAt).toBe(at)
  })

  test("a rotated key has a new text; the old one works through its grace period", () => {
    const { key, text: old } = keys.create({ name: "a" })
    keys.authenticate(old)
    const { text } = keys.rotate(key.id, { graceMs: 100 })
    expect(keys.authenticate(text).id).toBe(key.id)
    expect(keys.authenticate(old).id).toBe(key.id)
    now += 100
    expect(codeOf(() => keys.authenticate(old))).toBe("revoked_api_key")
    expect(keys.authenticate(text).id).toBe(key.id)
  })

  test("a revoked key cannot be rotated", () => {
    const { key } = keys.create({ name: "a" })
    keys.revoke(key.id)
    expect(() => keys.rotate(key.id)).toThrow("revoked")
  })

  test("an unknown key id is named in the error", () => {
    expect(() => keys.revoke("key_0")).toThrow("no key key_0")
  })

  test("a broken store is reported as unavailable, and cached keys are still authenticated", () => {
    const { text } = keys.create({ name: "a" })
    const other = keys.create({ name: "b" }).text
    keys.authenticate(text)
    table.broken = true
    expect(codeOf(() => keys.authenticate(text))).toBe("ok")
    expect(codeOf(() => keys.authenticate(other))).toBe("store_unavailable")
  })

  test("a cached key needs no lookup, and stays cached when other keys change", () => {
    const [one, other] = [keys.create({ name: "a" }), keys.create({ name: "b", tenant: "other" })]
    const known = keys.authenticate(one.text)
    keys.update(other.key.id, { name: "c" })
    keys.tenants.create("other")
    expect(keys.authenticate(one.text)).toBe(known)
    expect(table.looks).toBe(1)
    keys.authenticate(other.text)
    expect(table.looks).toBe(2)
    keys.tenants.create("default")
    expect(keys.authenticate(one.text)).not.toBe(known)
    expect(table.looks).toBe(3)
  })

  test("keys hashed with the old secret are still authenticated during its rotation", () => {
    const { text } = keys.create({ name: "a" })
    const next = new Secret("n".repeat(32))
    expect(codeOf(() => createKeyRegistry({ table, secrets: [next, ...SECRETS] }).authenticate(text))).toBe("ok")
    expect(codeOf(() => createKeyRegistry({ table, secrets: [next] }).authenticate(text))).toBe("invalid_api_key")
  })
})

test.each([
  [null, "a/b", true],
  [["a/b"], "a/b", true],
  [["a/b"], "a/bc", false],
  [["a/*"], "a/b", true],
  [["a/*"], "ab/b", false],
  [["*"], "a/b", true],
  [["*/llama-*"], "meta/llama-3", true],
  [["*mini"], "openai/gpt-4o-mini", true],
  [["a*a"], "a", false],
  [["o*4*mini"], "openai/gpt-4o-mini", true],
  [["openai/gpt.4o"], "openai/gpt-4o", false],
  [[], "a/b", false],
])("the scope %p and %p: %p", (patterns, model, allowed) => {
  expect(allowsModel(patterns, model)).toBe(allowed)
})

describe("the hashing secret", () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "trivium-secret-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const LONG = { new: "n".repeat(32), old: "o".repeat(32) }
  let mark: string | undefined
  let keyCount: number
  beforeEach(() => {
    mark = undefined
    keyCount = 0
  })
  const marks = {
    read: () => mark,
    write: (text: string) => {
      mark = text
    },
  }
  const secretsOf = (environment: Record<string, string>, more: { onLoss?: (what: string) => void } = {}) =>
    loadHashingSecrets({ dataDir: join(folder, "data"), environment, marks, keyCount: () => keyCount, ...more })

  test("the hashing secret is created once, readable only by its owner", () => {
    const data = join(folder, "data")
    const [first] = secretsOf({})
    const [second] = secretsOf({})
    expect(first?.reveal()).toBe(readFileSync(join(data, "secret"), "utf8").trim())
    expect(second?.reveal()).toBe(first?.reveal() ?? "")
    expect(statSync(join(data, "secret")).mode & 0o777).toBe(0o600)
  })

  test("the hashing secret of the environment takes precedence, with the previous one during a rotation", () => {
    const secrets = secretsOf({ TRIVIUM_SECRET: LONG.new, TRIVIUM_SECRET_PREVIOUS: "old" })
    expect(secrets.map((secret) => secret.reveal())).toEqual([LONG.new, "old"])
  })

  test("a hashing secret of the environment needs at least 32 characters", () => {
    expect(() => secretsOf({ TRIVIUM_SECRET: "n".repeat(31) })).toThrow("has 31 characters; at least 32 are required")
    expect(mark).toBeUndefined()
  })

  test("a missing hashing secret is not replaced while keys depend on it", () => {
    secretsOf({})
    rmSync(join(folder, "data", "secret"))
    keyCount = 3
    expect(() => secretsOf({})).toThrow(/secret is missing; the store's 3 API keys were created with it.*--accept-loss/)
    expect(existsSync(join(folder, "data", "secret"))).toBe(false)
    const losses: string[] = []
    secretsOf({}, { onLoss: (what) => losses.push(what) })
    expect(losses).toHaveLength(1)
    secretsOf({})
  })

  test("the hashing secret is created again if no key needs it, and in a store from before there were marks", () => {
    secretsOf({})
    rmSync(join(folder, "data", "secret"))
    secretsOf({})
    mark = undefined
    keyCount = 1
    secretsOf({})
    expect(mark).toBeDefined()
  })

  test("a different hashing secret is refused, unless the old one is given with it", () => {
    secretsOf({ TRIVIUM_SECRET: LONG.old })
    keyCount = 2
    expect(mark).not.toContain(LONG.old)
    expect(() => secretsOf({ TRIVIUM_SECRET: LONG.new })).toThrow("2 API keys were created with a different secret")
    secretsOf({ TRIVIUM_SECRET: LONG.old })
    secretsOf({ TRIVIUM_SECRET: LONG.new, TRIVIUM_SECRET_PREVIOUS: LONG.old })
    secretsOf({ TRIVIUM_SECRET: LONG.new })
    expect(() => secretsOf({ TRIVIUM_SECRET: LONG.old })).toThrow("a different secret than TRIVIUM_SECRET")
  })
})
