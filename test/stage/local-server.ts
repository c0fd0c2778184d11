// Local model servers as a gateway sees them: their listings, and a model that answers.
import { completion, streamedWords, type UpstreamScript } from "./upstream.ts"

type ServerDocuments = Readonly<Record<string, unknown>>

/** Answers GET with these documents by path, text as is, and calls to a model as a server would. */
export function localServer(documents: ServerDocuments): UpstreamScript {
  return async ({ method, path, body }, reply) => {
    const document = documents[path]
    if (typeof document === "string") return reply.raw(document)
    if (typeof document === "function") return reply.json(document(JSON.parse(body.toString())))
    if (document !== undefined) return reply.json(document)
    if (method !== "POST") return reply.json({ error: "not found" }, 404)
    const { stream } = JSON.parse(body.toString()) as { stream?: boolean }
    if (path.endsWith("/embeddings")) {
      const data = [{ object: "embedding", index: 0, embedding: [0.5, -0.5] }]
      return reply.json({ object: "list", data, model: "m", usage: { prompt_tokens: 2, total_tokens: 2 } })
    }
    if (!stream) return reply.json(completion("Hello from here."))
    reply.stream()
    for (const event of streamedWords("Hello from here.")) await reply.write(event)
    reply.end()
  }
}

export const openaiListing = (...models: (Record<string, unknown> & { readonly id: string })[]): ServerDocuments => ({
  "/v1/models": { object: "list", data: models.map((model) => ({ object: "model", created: 1, ...model })) },
})

export const vllm = openaiListing({
  ...{ id: "meta-llama/Llama-3.3-70B-Instruct", owned_by: "vllm", root: "meta-llama/Llama-3.3-70B-Instruct" },
  ...{ parent: null, max_model_len: 32_768, permission: [] },
})

export const llamacpp = openaiListing({
  ...{ id: "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", owned_by: "llamacpp" },
  meta: { vocab_type: 1, n_vocab: 262_144, n_ctx: 8192, n_ctx_train: 131_072, n_embd: 2560 },
})

export const lmstudio: ServerDocuments = {
  "/api/v0/models": {
    object: "list",
    data: [
      { id: "qwen/qwen3-4b", object: "model", type: "llm", state: "loaded", max_context_length: 262_144 },
      { id: "text-embedding-nomic-embed-text-v1.5", type: "embeddings", max_context_length: 2048 },
    ],
  },
}

export function ollama(...names: string[]): ServerDocuments {
  const details = { format: "gguf", family: "llama", parameter_size: "1.2B", quantization_level: "Q8_0" }
  return {
    "/api/tags": { models: names.map((name) => ({ name, model: name, size: 1, digest: "sha256:0", details })) },
    "/api/show": ({ model }: { model: string }) => ({
      details,
      capabilities: model.includes("embed") ? ["embedding"] : ["completion", "tools"],
      model_info: { "general.architecture": "llama", "llama.context_length": 131_072 },
    }),
  }
}
