import { expect, test } from "bun:test"
import { type SourceFile, sourceFiles } from "./sources.ts"

/** Modules that know protocols only through their contract, and so no vendor by name. */
const NEUTRAL = /^(exchange|routing|transport)\//
const VENDORS = /openai|anthropic|gemini|google|claude|azure|bedrock|openrouter|groq|mistral|deepseek|ollama/i

test("the modules of the request path name no vendor", () => {
  expect(vendorNames(sourceFiles())).toEqual([])
})

test("a vendor's name on the request path is reported with its line", () => {
  const text = "// one\nconst header = 'anthropic-version'\n"
  expect(vendorNames([{ path: "exchange/a.ts", text }])).toEqual(["src/exchange/a.ts:2 names a vendor: anthropic"])
  expect(vendorNames([{ path: "protocols/a.ts", text }])).toEqual([])
})

function vendorNames(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (!NEUTRAL.test(path)) return []
    return text.split("\n").flatMap((line, index) => {
      const name = VENDORS.exec(line)?.[0]
      return name === undefined ? [] : [`src/${path}:${index + 1} names a vendor: ${name}`]
    })
  })
}
