// Health is kept per account object, so an unchanged account is the same object after a reload.
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadConfig } from "../../src/config/load-config.ts"
import { buildTable, type GatewayTable, knownProviders } from "../../src/gateway-table.ts"

function tableOf(text: string, before?: GatewayTable): GatewayTable {
  const workingDir = mkdtempSync(join(tmpdir(), "trivium-table-"))
  writeFileSync(join(workingDir, "trivium.yaml"), text)
  const config = loadConfig({ flags: {}, environment: {}, workingDir, knownProviders })
  rmSync(workingDir, { recursive: true })
  return buildTable(config, { send: () => Promise.reject(new Error("not called")), before })
}

const before = tableOf(`
providers:
  vllm: { type: openai-compatible, base_url: "http://vllm.example/v1", api_keys: [key-a, key-b] }
  openai: { api_key: key-c }
`)
const accounts = (table: GatewayTable, provider: string) => table.accounts.get(provider) ?? []

describe("an account", () => {
  test("an account survives a reload with reordered members and other changed accounts", () => {
    const after = tableOf(
      `
providers:
  openai: { api_key: another }
  vllm: { api_keys: [key-b, key-d, key-a], base_url: "http://vllm.example/v1", type: openai-compatible }
`,
      before,
    )
    const [a, b] = accounts(before, "vllm")
    const [first, second, third] = accounts(after, "vllm")
    expect([first === b, third === a, second === a || second === b]).toEqual([true, true, false])
    expect(accounts(after, "openai")[0]).not.toBe(accounts(before, "openai")[0])
  })

  test.each([
    ["another key", "http://vllm.example/v1", "type: openai-compatible, api_keys: [key-x, key-y]"],
    ["another address", "http://other.example/v1", "type: openai-compatible, api_keys: [key-a, key-b]"],
    [
      "other protocols",
      "http://vllm.example/v1",
      "type: openai-compatible, api_keys: [key-a, key-b], protocols: [openai-chat]",
    ],
    ["another type", "http://vllm.example/v1", "type: anthropic-compatible, api_keys: [key-a, key-b]"],
  ])("an account is a different one with %s", (_, address, entry) => {
    const after = tableOf(`providers:\n  vllm: { base_url: "${address}", ${entry} }`, before)
    expect(accounts(after, "vllm")).toHaveLength(2)
    for (const account of accounts(after, "vllm")) expect(accounts(before, "vllm")).not.toContain(account)
  })

  test("an account under another name is a different one", () => {
    const after = tableOf(
      'providers: { renamed: { type: openai-compatible, base_url: "http://vllm.example/v1", api_keys: [key-a] } }',
      before,
    )
    expect(accounts(before, "vllm")).not.toContain(accounts(after, "renamed")[0])
  })

  test("a removed account is forgotten, with its key", () => {
    const gone = tableOf("providers: { openai: { api_key: key-c } }", before)
    const back = tableOf("providers: { openai: { api_key: key-c } }", gone)
    expect([...gone.defined.values()]).toEqual([...accounts(before, "openai")])
    expect(accounts(back, "openai")[0]).toBe(accounts(before, "openai")[0] as never)
    expect(JSON.stringify([...before.defined.keys()])).not.toContain("key-")
  })

  test("an account of the simulator is kept too", () => {
    const demo = tableOf("")
    expect(accounts(tableOf("", demo), "openai")[0]).toBe(accounts(demo, "openai")[0] as never)
  })
})
