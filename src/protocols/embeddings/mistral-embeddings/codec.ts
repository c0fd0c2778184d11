// Mistral's embeddings: OpenAI's with one other member name; unknown members are refused.
import type { EmbeddingUpstream } from "../../embedding-codec.ts"
import { vectorCodec } from "../../openai/openai-vectors.ts"

export const mistralEmbeddingsUpstream: EmbeddingUpstream = vectorCodec({
  fates: {
    dimensions: { fate: "mapped", note: "`output_dimension`" },
    task: { fate: "dropped", note: "there is no such member" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  dimensions: "output_dimension",
  packed: { encoding_format: "base64" },
  onlyFloats: { output_dtype: ["float"] },
  takesMembers: ["output_dtype", "output_dimension", "metadata"],
})
