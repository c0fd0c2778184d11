import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { listLmstudio, listOllama, listOpenai } from "./model-listing.ts"

/** Documents by path; a function receives the posted body. */
let documents: Record<string, unknown> = {}
let requests: string[] = []
let server: Server
let host: { baseUrl: string; headers: Headers }
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = ""
    request.on("data", (bytes) => {
      body += bytes
    })
    request.on("end", () => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`.trim())
      const document = documents[request.url ?? ""]
      const answer = typeof document === "function" ? document(JSON.parse(body)) : document
      if (answer === undefined) response.writeHead(404).end()
      else response.end(typeof answer === "string" ? answer : JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  host = { baseUrl: `http://127.0.0.1:${port}/v1`, headers: new Headers({ authorization: "Bearer k" }) }
})
beforeEach(() => {
  documents = {}
  requests = []
})
afterAll(() => void server.close())

const chat = (name: string, contextWindow?: number) => ({
  name,
  kind: "chat",
  ...(contextWindow !== undefined && { contextWindow }),
  abilities: [],
})

describe("OpenAI's listing", () => {
  test("the OpenAI listing gives vLLM's models with their context windows, and sends the credential", async () => {
    documents["/v1/models"] = {
      object: "list",
      data: [
        {
          id: "meta-llama/Llama-3.3-70B-Instruct",
          object: "model",
          owned_by: "vllm",
          root: "x",
          parent: null,
          max_model_len: 32_768,
        },
        {
          id: "sql-lora",
          object: "model",
          owned_by: "vllm",
          parent: "meta-llama/Llama-3.3-70B-Instruct",
          max_model_len: null,
        },
      ],
    }
    expect((await listOpenai(host)).models as unknown).toEqual([
      chat("meta-llama/Llama-3.3-70B-Instruct", 32_768),
      chat("sql-lora"),
    ])
    expect(requests).toEqual(["GET /v1/models Bearer k"])
  })

  test("the OpenAI listing gives llama.cpp's models with the window of a slot, else that of the training", async () => {
    const meta = { vocab_type: 2, n_vocab: 151_936, n_ctx_train: 40_960, n_embd: 1024 }
    documents["/v1/models"] = {
      models: [{ name: "ignored", model: "ignored" }],
      object: "list",
      data: [
        { id: "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", meta: { ...meta, n_ctx: 4096 } },
        { id: "old.gguf", meta },
        { id: "loading", meta: null },
      ],
    }
    expect((await listOpenai(host)).models as unknown).toEqual([
      chat("ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", 4096),
      chat("old.gguf", 40_960),
      chat("loading"),
    ])
  })

  test.each(["nomic-embed-text", "text-embedding-3-small", "BAAI/bge-m3", "intfloat/e5-mistral-7b", "all-minilm-l6"])(
    "the OpenAI listing recognises %s as an embedding model",
    async (id) => {
      documents["/v1/models"] = { data: [{ id }] }
      expect((await listOpenai(host)).models[0]?.kind).toBe("embedding")
    },
  )

  test("the OpenAI listing gives at most 1,000 models, each once, and counts the others", async () => {
    const ids = Array.from({ length: 1500 }, (_, at) => ({ id: `m${at}` }))
    documents["/v1/models"] = { data: [...ids, ...ids] }
    const { models, excess } = await listOpenai(host)
    expect([models.length, models[0]?.name, models.at(-1)?.name, excess]).toEqual([1000, "m0", "m999", 500])
  })

  test("the OpenAI listing leaves out names that no request could contain, and counts them", async () => {
    const bad = [
      "../etc/passwd",
      "a/../b",
      "/models/x.gguf",
      "a b",
      "a\nb",
      "a\u0000b",
      "é",
      "",
      "x".repeat(201),
      "a//b",
      "a/",
    ]
    documents["/v1/models"] = { data: [...bad.map((id) => ({ id })), { id: 7 }, null, "text", [], {}, { id: "good" }] }
    const { models, unnameable } = await listOpenai(host)
    expect([models as unknown, unnameable]).toEqual([[chat("good")], bad.length + 5])
  })

  test.each([0, -1, 1.5, "4096", 1e300, true, {}])("a context window of %p is ignored", async (max_model_len) => {
    documents["/v1/models"] = { data: [{ id: "a", max_model_len }] }
    expect((await listOpenai(host)).models as unknown).toEqual([chat("a")])
  })

  test.each([
    ["<html>", "not JSON"],
    ["[]", "not a list of models"],
    ['{"data":{}}', "not a list of models"],
    ['"text"', "not a list of models"],
    [`{"data":["${"x".repeat(5_000_000)}"]}`, "larger than 4 MiB"],
  ])("an invalid OpenAI listing is refused", async (text, reason) => {
    documents["/v1/models"] = text
    await expect(listOpenai(host)).rejects.toThrow(reason)
  })
})

describe("LM Studio's own listing", () => {
  test("the LM Studio listing gives kinds, context windows and abilities", async () => {
    documents["/api/v0/models"] = {
      object: "list",
      data: [
        { id: "qwen2-vl-7b-instruct", object: "model", type: "vlm", state: "not-loaded", max_context_length: 32_768 },
        { id: "qwen/qwen3-4b", type: "llm", max_context_length: 262_144, capabilities: ["tool_use"] },
        { id: "text-embedding-nomic-embed-text-v1.5", type: "embeddings", max_context_length: 2048 },
      ],
    }
    expect((await listLmstudio(host)).models).toEqual([
      { name: "qwen2-vl-7b-instruct", kind: "chat", contextWindow: 32_768, abilities: ["vision"] },
      { name: "qwen/qwen3-4b", kind: "chat", contextWindow: 262_144, abilities: ["tools"] },
      { name: "text-embedding-nomic-embed-text-v1.5", kind: "embedding", contextWindow: 2048, abilities: [] },
    ])
    expect(requests).toEqual(["GET /api/v0/models Bearer k"])
  })

  test("the LM Studio listing falls back to the OpenAI listing", async () => {
    documents["/v1/models"] = { data: [{ id: "a" }] }
    expect((await listLmstudio(host)).models as unknown).toEqual([chat("a")])
  })
})

describe("Ollama's own listing", () => {
  const shown: Record<string, unknown> = {
    "llama3.2:1b": {
      capabilities: ["completion", "tools"],
      model_info: { "general.architecture": "llama", "llama.context_length": 131_072, "tokenizer.ggml.tokens": null },
    },
    "qwen3-vl:8b": { capabilities: ["completion", "vision", "thinking"], model_info: {} },
    "all-minilm:latest": { capabilities: ["embedding"], model_info: { "bert.context_length": 512 } },
  }

  test("the Ollama listing gives names, and a query per model the rest", async () => {
    documents["/api/tags"] = {
      models: [...Object.keys(shown), "gone:7b", "nomic-embed-text:latest"].map((name) => ({
        ...{ name, model: name, modified_at: "2026-11-01T00:00:00Z", size: 1, digest: "d" },
        details: { format: "gguf", family: "llama" },
      })),
    }
    documents["/api/show"] = ({ model }: { model: string }) => shown[model]
    expect((await listOllama(host)).models).toEqual([
      { name: "llama3.2:1b", kind: "chat", contextWindow: 131_072, abilities: ["tools"] },
      { name: "qwen3-vl:8b", kind: "chat", abilities: ["vision", "reasoning"] },
      { name: "all-minilm:latest", kind: "embedding", contextWindow: 512, abilities: [] },
      { name: "gone:7b", kind: "chat", abilities: [] },
      { name: "nomic-embed-text:latest", kind: "embedding", abilities: [] },
    ])
  })

  test("an empty Ollama listing is valid", async () => {
    documents["/api/tags"] = { models: null }
    expect(await listOllama(host)).toEqual({ models: [], unnameable: 0, excess: 0 })
  })

  test("the Ollama listing falls back to the OpenAI listing", async () => {
    documents["/v1/models"] = { data: [{ id: "a" }] }
    expect((await listOllama(host)).models as unknown).toEqual([chat("a")])
  })
})
