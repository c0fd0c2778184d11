import { expect, test } from "bun:test"
import { join } from "node:path"
import { needsClients } from "../../scripts/client-imports.mjs"

const root = join(import.meta.dir, "..", "..")

test("a test file needs the client packages if it imports one, directly or through another file", () => {
  expect(needsClients(join(root, "test/end-to-end/vercel-ai.test.ts"))).toBe(true)
  expect(needsClients(join(root, "test/end-to-end/demo-openai-chat.test.ts"))).toBe(true)
  expect(needsClients(join(root, "test/conformance/conformance.test.ts"))).toBe(true)
})

test("a test file that imports none of the client packages runs without them", () => {
  expect(needsClients(join(root, "test/docs/docs.test.ts"))).toBe(false)
  expect(needsClients(join(root, "test/clients/judge.test.ts"))).toBe(false)
})
