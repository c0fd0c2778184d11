import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type SourceFile, violations } from "./rules.ts"

const src = join(import.meta.dir, "..", "..", "src")

function sources(): SourceFile[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(src, path), "utf8") }))
}

test("the house keeps its rules", () => {
  const files = sources()
  expect(files.length).toBeGreaterThan(30)
  expect(violations(files)).toEqual([])
})

describe("a broken rule is noticed", () => {
  const broken: [string, SourceFile[], string][] = [
    [
      "canonical imports nothing of ours",
      [{ path: "canonical/part.ts", text: 'import { send } from "../transport/http-client.ts"' }],
      "canonical/ may not know transport/",
    ],
    [
      "a provider does not know a protocol, not even its types",
      [{ path: "providers/openai.ts", text: 'import type { Protocol } from "../protocols/contract.ts"' }],
      "providers/ may not know protocols/",
    ],
    [
      "a protocol does not know another",
      [
        {
          path: "protocols/chat/openai-chat/read-request.ts",
          text: 'import { a } from "../anthropic-messages/wire.ts"',
        },
      ],
      "folders of protocols/ do not know each other",
    ],
    [
      "the exchange knows protocols by contract only",
      [
        {
          path: "exchange/attempt.ts",
          text: 'import { openaiChat } from "../protocols/chat/openai-chat/openai-chat.ts"',
        },
      ],
      "protocols/ is known by contract only",
    ],
    [
      "a room does not know the composition root",
      [{ path: "http/server.ts", text: 'import { Gateway } from "../app.ts"' }],
      "may not know a composition root",
    ],
    ["a new folder has to be given its place", [{ path: "utils/text.ts", text: "" }], "utils/ is not a room"],
    [
      "a dynamic import is an import",
      [{ path: "config/load.ts", text: 'await import("../store/contract.ts")' }],
      "config/ may not know store/",
    ],
    [
      "imports run in no circle",
      [
        { path: "exchange/a.ts", text: 'import { b } from "./b.ts"' },
        { path: "exchange/b.ts", text: 'export { a } from "./a.ts"' },
      ],
      "circle: exchange/a.ts → exchange/b.ts → exchange/a.ts",
    ],
    [
      "Bun is named where it belongs",
      [{ path: "exchange/a.ts", text: "await Bun.sleep(1)" }],
      "names Bun's own interface",
    ],
    [
      "bun:sqlite belongs to the store",
      [{ path: "accounts/a.ts", text: 'import { Database } from "bun:sqlite"' }],
      "names Bun's own interface",
    ],
  ]
  test.each(broken)("%s", (_, files, complaint) => {
    expect(violations(files).join("\n")).toContain(complaint)
  })
})
