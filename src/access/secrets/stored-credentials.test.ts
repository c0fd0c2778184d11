import { expect, test } from "bun:test"
import { Secret } from "../../config/secret.ts"
import type { CredentialRow, CredentialTable } from "../../store/contract.ts"
import { Sealer } from "./sealer.ts"
import { StoredCredentials } from "./stored-credentials.ts"

function memory(): CredentialTable & { rows: Map<string, CredentialRow> } {
  const rows = new Map<string, CredentialRow>()
  return {
    rows,
    put: (row) => void rows.set(row.provider, row),
    list: () => [...rows.values()],
    find: (provider) => rows.get(provider),
    remove: (provider) => rows.delete(provider),
  }
}

const first = new Secret("first secret of the gateway, long")
const second = new Secret("second secret of the gateway, long")
const credential = new Secret("sk-canary")
const at = "https://api.example.com/v1"

test("a credential is stored sealed and opens at its own address", () => {
  const table = memory()
  const credentials = new StoredCredentials({ table, sealer: new Sealer([first]) })
  credentials.set("openai", { address: at, credential })
  expect(JSON.stringify([...table.rows.values()])).not.toContain("canary")
  expect(Buffer.from(table.rows.get("openai")?.sealed ?? "", "base64").toString("latin1")).not.toContain("canary")
  expect(credentials.find("openai", at)?.reveal()).toBe("sk-canary")
  expect(credentials.find("anthropic", at)).toBeUndefined()
})

test("a provider with a new address loses its credential permanently", () => {
  const table = memory()
  const credentials = new StoredCredentials({ table, sealer: new Sealer([first]) })
  credentials.set("openai", { address: at, credential })
  expect(credentials.find("openai", "https://evil.example.com/v1")).toBeUndefined()
  expect(credentials.find("openai", at)).toBeUndefined()
  expect(table.rows.size).toBe(0)
})

test("a row copied to another provider or address does not open", () => {
  const table = memory()
  const credentials = new StoredCredentials({ table, sealer: new Sealer([first]) })
  credentials.set("openai", { address: at, credential })
  const row = table.find("openai") as CredentialRow
  table.put({ ...row, provider: "other" })
  table.put({ ...row, address: "https://evil.example.com/v1" })
  expect(credentials.find("other", at)).toBeUndefined()
  expect(credentials.find("openai", "https://evil.example.com/v1")).toBeUndefined()
})

test("both secrets open credentials during a rotation; without the old one, its credentials stay sealed", () => {
  const table = memory()
  new StoredCredentials({ table, sealer: new Sealer([first]) }).set("openai", { address: at, credential })
  const rotating = new StoredCredentials({ table, sealer: new Sealer([second, first]) })
  expect(rotating.find("openai", at)?.reveal()).toBe("sk-canary")
  expect(new StoredCredentials({ table, sealer: new Sealer([second]) }).find("openai", at)).toBeUndefined()
})

test("the settings of an entry are bound to the seal, and listed without opening it", () => {
  const table = memory()
  const credentials = new StoredCredentials({ table, sealer: new Sealer([first]), now: () => 7 })
  const settings = '{"type":"openai-compatible"}'
  credentials.set("mine", { address: at, credential, settings })
  expect(credentials.list()).toEqual([{ provider: "mine", setAt: 7, settings }])
  expect(credentials.find("mine", at)?.reveal()).toBe("sk-canary")
  table.put({ ...(table.find("mine") as CredentialRow), settings: '{"type":"openai"}' })
  expect(credentials.find("mine", at)).toBeUndefined()
})

test("a credential with any changed byte does not open", () => {
  const sealer = new Sealer([first])
  const sealed = Buffer.from(sealer.seal("text", "place"), "base64")
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(sealer.open(changed.toString("base64"), "place")).toBeUndefined()
  }
  expect(sealer.open("", "place")).toBeUndefined()
})
