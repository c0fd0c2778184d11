// Voyage's embeddings: OpenAI's with other member names; unknown members are refused.
import type { EmbeddingUpstream } from "../../embedding-codec.ts"
import { vectorCodec } from "../../openai/openai-vectors.ts"

export const voyageEmbeddingsUpstream: EmbeddingUpstream = vectorCodec({
  fates: {
    dimensions: { fate: "mapped", note: "`output_dimension`" },
    task: { fate: "approximated", note: "`input_type`, which distinguishes only queries and documents" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  dimensions: "output_dimension",
  packed: { encoding_format: "base64" },
  task: {
    member: "input_type",
    words: {
      query: "query",
      document: "document",
      question: { near: "query" },
      fact: { near: "query" },
      "code-query": { near: "query" },
    },
  },
  onlyFloats: { output_dtype: ["float"] },
})
