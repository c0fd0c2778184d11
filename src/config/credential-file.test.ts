import { describe, expect, test } from "bun:test"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { folder, load, problems } from "./load-config.fixture.ts"

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const openai = (credential: string) => `providers:\n  openai: { api_key: "${credential}" }`

describe("a file: reference", () => {
  test.each([
    ["an absolute path", (path: string) => `file:${path}`],
    ["an address", (path: string) => `file://${path}`],
    ["a path from the working directory", () => "file:key.txt"],
  ])("a file: reference may be %s, and surrounding white space is dropped", (_, reference) => {
    const path = write("key.txt", "sk-from-a-file\n")
    const { providers, credentialFiles } = load(openai(reference(path)))
    expect(providers[0]?.apiKey?.reveal()).toBe("sk-from-a-file")
    expect(providers[0]?.apiKey?.origin).toBe(`file ${path}`)
    expect(credentialFiles.map((file) => [file.path, file.text.reveal()])).toEqual([[path, "sk-from-a-file\n"]])
  })

  test("a file: reference may be one of several keys, or the value of a trace header", () => {
    const path = write("key.txt", "from-a-file")
    const yaml = `
providers: { openai: { api_keys: [written, "file:${path}"] } }
telemetry: { traces: "http://collector:4318", headers: { x-key: "file:${path}" } }`
    const { providers, traces } = load(yaml)
    expect(providers[0]?.apiKeys?.map((key) => key.reveal())).toEqual(["written", "from-a-file"])
    expect(traces?.headers["x-key"]?.reveal()).toBe("from-a-file")
  })

  test("a file: reference may come from a variable", () => {
    const path = write("key.txt", "from-a-file")
    const { providers } = load(undefined, { environment: { OPENAI_API_KEY: `file:${path}` } })
    expect(providers[0]?.apiKey?.reveal()).toBe("from-a-file")
  })

  test.each<[string, () => string, (path: string) => string]>([
    ["is not there", () => join(folder, "none"), (path) => `there is no file ${path}`],
    ["is empty", () => write("empty", " \n"), (path) => `the file ${path} is empty`],
    ["is a folder", () => makeFolder("folder"), (path) => `${path} is not a regular file`],
    ["is too large", () => write("large", "k".repeat(65_537)), (path) => `the file ${path} is larger than 64 KiB`],
    [
      "holds several lines",
      () => write("lines", "first-part\nsecond-part"),
      (path) =>
        `the file ${path} does not contain a credential: a credential may contain only ASCII characters and no spaces`,
    ],
  ])("a file: reference to a file that %s is an error that names the member and the file", (_, make, message) => {
    const path = make()
    const found = problems(openai(`file:${path}`))
    expect(found).toEqual([`trivium.yaml:2:22 providers.openai.api_key: ${message(path)}`])
    expect(found.join()).not.toContain("first-part")
  })

  test.skipIf(process.getuid?.() === 0)("a file: reference to an unreadable file is an error", () => {
    const path = write("closed", "key")
    chmodSync(path, 0)
    expect(problems(openai(`file:${path}`))[0]).toEndWith(`the file ${path} cannot be read (EACCES)`)
  })
})

test.each(["op://vault/item/field", "vault://secret/data/key"])("a reference such as %s is refused", (reference) => {
  const [line = "", ...others] = problems(openai(reference))
  expect(line).toContain("providers.openai.api_key: references such as ")
  expect(line).toContain('runs no commands; write the credential to a file and refer to it as "file:/path/to/file"')
  expect(line).not.toContain("item")
  expect(others).toEqual([])
})

function makeFolder(name: string): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  return path
}
