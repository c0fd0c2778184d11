// Jina's embeddings: OpenAI's with a few other member names.
import type { EmbeddingUpstream } from "../../embedding-codec.ts"
import { vectorCodec } from "../../openai/openai-vectors.ts"

export const jinaEmbeddingsUpstream: EmbeddingUpstream = vectorCodec({
  fates: {
    dimensions: { fate: "mapped", note: "`dimensions`" },
    task: { fate: "approximated", note: "`task`; questions and facts are sent as queries" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  dimensions: "dimensions",
  packed: { embedding_type: "base64" },
  task: {
    member: "task",
    words: {
      query: "retrieval.query",
      document: "retrieval.passage",
      similarity: "text-matching",
      classification: "classification",
      clustering: "separation",
      question: { near: "retrieval.query" },
      fact: { near: "retrieval.query" },
      "code-query": "code.query",
    },
  },
  onlyFloats: { embedding_type: ["float", "base64"] },
})
