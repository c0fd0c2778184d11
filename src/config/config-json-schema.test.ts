// Compares the JSON Schema of trivium.yaml with what the gateway itself accepts.
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { knownProviders } from "../gateway-table.ts"
import { violations } from "../simulator/schema/schema-check.fixture.ts"
import { configJsonSchema } from "./config-json-schema.ts"
import { load, problems } from "./load-config.fixture.ts"

const schema = configJsonSchema(knownProviders)
const page = readFileSync(join(import.meta.dir, "..", "..", "docs", "configuration.md"), "utf8")
const yaml = (/^```yaml\n(server:[\s\S]*?)^```/m.exec(page)?.[1] ?? "").replace("file:/run/secrets/groq", "gsk-1")
const example = parse(yaml) as JsonObject

const environment = { OPENAI_API_KEY: "sk-1", KEY_A: "sk-2", KEY_B: "sk-3", VLLM_KEY: "sk-4", PORT: "8080" }
const sources = { environment, knownProviders }
const isAccepted = (file: Json) => problems(undefined, { ...sources, text: JSON.stringify(file) }).length === 0
const isValid = (file: Json) => violations(file, schema).length === 0

/** The file with each of its values in turn omitted or replaced. */
function* changed(value: Json, others: readonly Json[]): Generator<Json | undefined> {
  yield undefined
  yield* others
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const each of changed(item, others)) yield value.toSpliced(index, 1, ...(each === undefined ? [] : [each]))
  }
  if (!isObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...rest } = value
    for (const each of changed(member, others)) yield each === undefined ? rest : { ...rest, [name]: each }
  }
}

test("the documented example is valid by the schema and accepted by the gateway", () => {
  expect(violations(example, schema)).toEqual([])
  expect(load(yaml, sources).models).toHaveLength(2)
})

test("every file that the gateway accepts is valid by the schema", () => {
  const values: Json[] = [null, 1, 70_000, `\${PORT}`, []]
  const counts = { accepted: 0, refusedByBoth: 0 }
  for (const file of changed(example, values)) {
    if (!isObject(file)) continue
    const [accepted, valid] = [isAccepted(file), isValid(file)]
    if (accepted && !valid) expect({ file, broken: violations(file, schema) }).toBeUndefined()
    if (accepted) counts.accepted++
    else if (!valid) counts.refusedByBoth++
  }
  expect(counts.accepted).toBeGreaterThan(50)
  expect(counts.refusedByBoth).toBeGreaterThan(100)
}, 60_000)

test.each<[string, JsonObject]>([
  ["a member that does not exist", { sever: {} }],
  ["a port out of range", { server: { port: 70_000 } }],
  ["a provider's unknown type", { providers: { mine: { type: "opnai" } } }],
  ["a provider's unknown member", { providers: { openai: { api_kye: "x" } } }],
  ["an unknown strategy", { defaults: { routing: "speed" } }],
  ["a price without quotes", { models: [{ id: "openai/gpt-4o", pricing: { input: 0.5 } }] }],
  ["a group without models", { groups: [{ id: "auto/none", models: [] }] }],
  ["a model without an id", { models: [{ kind: "chat" }] }],
])("the schema and the gateway refuse %s", (_, file) => {
  expect([isAccepted(file), isValid(file)]).toEqual([false, false])
})

test("the schema states the bounds and defaults of the declaration", () => {
  const { server, ledger } = schema.properties as Record<string, { anyOf: [{ properties: JsonObject }] }>
  expect(server?.anyOf[0].properties.max_in_flight).toMatchObject({
    anyOf: [{ type: "integer", minimum: 1, maximum: 20_000 }, {}, { type: "null" }],
    default: 2000,
  })
  expect(ledger?.anyOf[0].properties.suspense_hours).toMatchObject({ default: 24 })
})
