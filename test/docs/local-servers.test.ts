// The examples of docs/local-servers.md load and discover the models that the page lists.
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { loadConfig } from "../../src/config/load-config.ts"
import { buildTable, knownProviders } from "../../src/gateway-table.ts"

const page = readFileSync(join(import.meta.dir, "..", "..", "docs", "local-servers.md"), "utf8")
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text)

test.each(examples.map((text, at) => [at + 1, text] as const))(
  "example %i of the local servers page loads",
  (_, text) => {
    const environment = { VLLM_KEY: "k" }
    const config = loadConfig({ flags: {}, environment, workingDir: "/nowhere", knownProviders, text })
    const { accounts, isDemo } = buildTable(config, { send: () => Promise.reject(new Error("not called")) })
    expect([accounts.size, isDemo]).toEqual([config.providers.length, false])
    const discovering = [...accounts].flatMap(([id, [account]]) => (account?.listModels ? [id] : []))
    expect(discovering).toEqual(config.providers.map(({ id }) => id).filter((id) => id !== "lmstudio"))
  },
)

test("the addresses in the local servers page are those of the providers", () => {
  for (const id of ["ollama", "vllm", "llamacpp", "lmstudio"]) {
    const provider = knownProviders.find((each) => each.id === id)
    expect(page).toContain(`| \`${id}\` | ${provider?.baseUrl}`)
  }
})
