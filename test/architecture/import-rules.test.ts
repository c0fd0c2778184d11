import { describe, expect, test } from "bun:test"
import { importRuleViolations } from "./import-rules.ts"
import { type SourceFile, sourceFiles } from "./sources.ts"

test("every import in src/ follows the module table", () => {
  const files = sourceFiles()
  expect(files.length).toBeGreaterThan(30)
  expect(importRuleViolations(files)).toEqual([])
})

describe("a broken import rule is reported", () => {
  const broken: [string, SourceFile[], string][] = [
    [
      "canonical/ imports no other module",
      [{ path: "canonical/part.ts", text: 'import { send } from "../transport/http-client.ts"' }],
      "canonical/ may not import transport/",
    ],
    [
      "a provider does not import a protocol, not even its types",
      [{ path: "providers/openai.ts", text: 'import type { Protocol } from "../protocols/contract.ts"' }],
      "providers/ may not import protocols/",
    ],
    [
      "a protocol does not import another",
      [
        {
          path: "protocols/chat/openai-chat/read-request.ts",
          text: 'import { a } from "../anthropic-messages/wire.ts"',
        },
      ],
      "folders of protocols/ do not import each other",
    ],
    [
      "the exchange imports protocols only through their contract",
      [
        {
          path: "exchange/attempt.ts",
          text: 'import { openaiChat } from "../protocols/chat/openai-chat/openai-chat.ts"',
        },
      ],
      "protocols/ may only be imported through its contract",
    ],
    [
      "a module does not import the composition root",
      [{ path: "http/server.ts", text: 'import { Gateway } from "../gateway.ts"' }],
      "may not import a composition root",
    ],
    [
      "a new folder has to be listed as a module",
      [{ path: "utils/text.ts", text: "" }],
      "utils/ is not a listed module",
    ],
    [
      "a dynamic import counts as an import",
      [{ path: "config/load.ts", text: 'await import("../store/contract.ts")' }],
      "config/ may not import store/",
    ],
    [
      "imports form no circle",
      [
        { path: "exchange/a.ts", text: 'import { b } from "./b.ts"' },
        { path: "exchange/b.ts", text: 'export { a } from "./a.ts"' },
      ],
      "circle: exchange/a.ts → exchange/b.ts → exchange/a.ts",
    ],
    [
      "Bun is not named outside http/, store/ and transport/bun-wire.ts",
      [{ path: "exchange/a.ts", text: "await Bun.sleep(1)" }],
      "names Bun's own interface",
    ],
    [
      "bun:sqlite is imported only by the store",
      [{ path: "access/a.ts", text: 'import { Database } from "bun:sqlite"' }],
      "names Bun's own interface",
    ],
  ]
  test.each(broken)("%s", (_, files, complaint) => {
    expect(importRuleViolations(files).join("\n")).toContain(complaint)
  })
})
