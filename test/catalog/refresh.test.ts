import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { compare, type ModelFile, printModelFile } from "../../scripts/catalog-compare.ts"
import { readFacts } from "../../scripts/catalog-facts.ts"
import snapshot from "../../src/catalog/snapshot.json"

const root = join(import.meta.dir, "..", "..")

const acme = (): ModelFile => ({
  author: "acme",
  models: [
    {
      id: "acme/chat-1",
      kind: "chat",
      aliases: ["chat-1-2025"],
      context_window: 1000,
      max_output_tokens: 100,
      pricing: { input: "1", output: "2.50" },
      targets: [
        { provider: "acme", model: "chat-1" },
        { provider: "host", model: "acme/Chat-1" },
      ],
    },
  ],
})

const fact = (provider: string, model: string, rest: object = {}) => ({ provider, upstreamId: model, ...rest })
const sound = [
  fact("acme", "chat-1", { contextWindow: 1000, pricing: { input: "1.00", output: "2.5", cacheRead: "0" } }),
  fact("host", "acme/Chat-1", { contextWindow: 500, pricing: { input: "1" } }),
  fact("acme", "chat-1-2025"),
]
const differences = (models: object[], file = acme()) => compare([file], readFacts({ models }))

describe("a catalogue refresh", () => {
  test("a refresh reports nothing for equal facts in other digits, nor for limits of other hosts", () => {
    expect(differences(sound)).toEqual([])
  })

  test("a refresh reports changed prices and limits, removed models and new models", () => {
    const facts = [
      fact("acme", "chat-1", { contextWindow: 2000, pricing: { input: "0.8", cacheRead: "0.1" } }),
      fact("acme", "chat-2", { pricing: { input: "3" } }),
      fact("acme", "rank", { kind: "rerank" }),
      fact("host", "another"),
    ]
    expect(differences(facts).map(({ message }) => message)).toEqual([
      "acme/chat-1 at acme: input 1 → 0.8, cache_read none → 0.1",
      "acme/chat-1: context_window 1000 → 2000",
      "acme/chat-1 at host: no longer there as acme/Chat-1",
      'acme/chat-2: new, {"input":"3"}',
    ])
  })

  test("a refresh records another host's price as that host's own", () => {
    const file = acme()
    for (const { apply } of differences([fact("host", "acme/Chat-1", { pricing: { input: "0.5" } })], file)) apply?.()
    expect(file.models[0]?.pricing).toEqual({ input: "1", output: "2.50" })
    expect(file.models[0]?.targets[1]?.pricing).toEqual({ input: "0.5", output: "2.50" })
  })

  test("a refresh reads the api.json of models.dev as well", () => {
    const cost = { input: 0.075, output: 0.3, input_audio: 1 }
    const api = {
      togetherai: { models: { m: { cost, limit: { context: 9, output: 4 }, modalities: { output: ["text"] } } } },
    }
    expect(readFacts(api)).toEqual([
      {
        provider: "together",
        model: "m",
        kind: "chat",
        contextWindow: 9,
        maxOutputTokens: 4,
        prices: { input: "0.075", output: "0.3", audio_input: "1" },
      },
    ])
  })

  test("a refresh writes files with the same content", () => {
    const folder = join(root, "src", "catalog", "models")
    for (const name of readdirSync(folder)) {
      const file = JSON.parse(readFileSync(join(folder, name), "utf8"))
      expect(JSON.parse(printModelFile(file))).toEqual(file)
    }
  })
})

test("the models page shows the date of the catalogue and of its sources", () => {
  const page = readFileSync(join(root, "docs", "models.md"), "utf8")
  expect(page).toContain(`as of ${snapshot.date}`)
  for (const { name, date, licence } of snapshot.sources) expect(page).toContain(`| ${name} | ${date} | ${licence} |`)
})
