// OpenAI's embeddings in the embedding lane: for other upstreams, or for the same one in several calls.
import {
  base64Of,
  type EmbeddingContent,
  type EmbeddingFates,
  type EmbeddingRequest,
  type EmbeddingTask,
  floatsOf,
} from "../../../canonical/embedding.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { claimFields } from "../../../canonical/passthrough-fields.ts"
import type { EmbeddingIngress, EmbeddingUpstream } from "../../embedding-codec.ts"
import { encodeUsage, OPENAI_EMBEDDINGS, vectorCodec } from "../../openai/openai-vectors.ts"
import { isPacked, isTokens } from "./read-request.ts"

/** Not OpenAI's own: clients of Cohere's, Voyage's and NVIDIA's models send these on this path. */
const TASKS: Readonly<Record<string, EmbeddingTask>> = {
  query: "query",
  search_query: "query",
  document: "document",
  passage: "document",
  search_document: "document",
  classification: "classification",
  clustering: "clustering",
}

export const ingress: EmbeddingIngress = {
  decodeRequest,
  settingPaths: () => ({ input: "input", dimensions: "dimensions", task: "input_type", endUser: "user" }),
  encodeResponse({ vectors, usage }, { model, operation }) {
    const packs = isPacked(operation)
    const data = vectors.map((vector, index) => {
      return { object: "embedding", index, embedding: packs ? base64Of(vector) : floatsOf(vector) }
    })
    const usageMember = usage && { usage: encodeUsage(usage) }
    return { object: "list", data, model, ...usageMember }
  },
}

function decodeRequest(body: JsonObject): EmbeddingRequest {
  const claimed = claimFields(body)
  for (const name of ["model", "provider", "encoding_format"]) claimed.take(name)
  const dimensions = claimed.take("dimensions") as number | undefined
  const endUser = claimed.take("user") as string | undefined
  const word = body.input_type
  const task = typeof word === "string" && Object.hasOwn(TASKS, word) ? TASKS[word] : undefined
  if (task) claimed.take("input_type")
  const alike = { ...(dimensions !== undefined && { dimensions }), ...(task && { task }) }
  const contents = contentsOf(claimed.take("input") ?? null)
  const extra = claimed.rest(OPENAI_EMBEDDINGS)
  return {
    inputs: contents.map((content) => ({ content, ...alike })),
    ...(endUser !== undefined && { endUser }),
    ...(extra && { extra }),
  }
}

function contentsOf(input: Json): EmbeddingContent[] {
  if (typeof input === "string") return [{ kind: "text", text: input }]
  if (isTokens(input)) return [{ kind: "tokens", tokens: input }]
  return Array.isArray(input) ? input.flatMap(contentsOf) : []
}

const fates: EmbeddingFates = {
  dimensions: { fate: "mapped", note: "`dimensions`" },
  task: { fate: "dropped", note: "there is no such member" },
  title: { fate: "dropped", note: "there is no such member" },
  endUser: { fate: "mapped", note: "`user`" },
}

export const upstream: EmbeddingUpstream = vectorCodec({
  fates,
  takesTokens: true,
  dimensions: "dimensions",
  endUser: "user",
  packed: { encoding_format: "base64" },
})
