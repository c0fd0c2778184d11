import { describe, expect, test } from "bun:test"
import { Catalog } from "./catalog.ts"
import { joinDiscovered } from "./discovered.ts"
import { model } from "./model.fixture.ts"

const llama = { name: "llama3.2:1b", kind: "chat", abilities: [] } as const
const offer = (provider: string, ...models: Parameters<typeof joinDiscovered>[1][number]["models"]) => ({
  provider,
  models,
})

describe("a discovered model", () => {
  test("a discovered model is named after its entry, is free, and shows what its host reports", () => {
    const [found] = joinDiscovered(
      [],
      [offer("ollama", { ...llama, contextWindow: 131_072, abilities: ["tools", "vision"] })],
    )
    expect(found).toMatchObject({
      id: "ollama/llama3.2:1b",
      kind: "chat",
      contextWindow: 131_072,
      modalities: { input: ["text", "image"], output: ["text"] },
      capabilities: ["tools"],
      reasoning: false,
      pricing: { input: "0", output: "0" },
      targets: [{ provider: "ollama", model: "llama3.2:1b" }],
    })
  })

  test("a discovered model may be an embedding model, or a reasoning model", () => {
    const thinker = { ...llama, name: "qwen3", abilities: ["reasoning"] } as const
    const found = joinDiscovered([], [offer("here", { ...llama, kind: "embedding" }, thinker)])
    expect(found.map(({ modalities: { output }, reasoning }) => [output, reasoning])).toEqual([
      [["embedding"], false],
      [["text"], true],
    ])
  })

  test.each([
    ["its id", { id: "ollama/llama3.2:1b" }],
    ["its id as another name", { id: "meta/llama", aliases: ["ollama/llama3.2:1b"] }],
    [
      "its host and name as a target",
      { id: "acme/small", targets: [{ provider: "ollama", model: "llama3.2:1b", priority: 1, weight: 1 }] },
    ],
  ])("a known model with %s takes precedence over a discovered one", (_, members) => {
    const known = { ...model("acme/other"), ...members }
    const joined = joinDiscovered([known], [offer("ollama", llama)])
    expect(joined).toEqual([known])
    expect(new Catalog(joined).find("ollama/llama3.2:1b")?.pricing).toEqual(known.pricing)
  })
})
