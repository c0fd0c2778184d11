// Cohere's embed interface, second version: at Cohere, and without the model's name at Amazon Bedrock.
import { type EmbeddingResponse, type EmbeddingVector, vectorsIn } from "../../../canonical/embedding.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { EmbeddingUpstream } from "../../embedding-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { bedrockInputTokens } from "../../usage/bedrock-input-tokens.ts"
import { readCountDetails, readTokenCount } from "../../usage/token-counts.ts"
import { reportEmbeddingExtra, type TaskWords, taskWord, textsOf } from "../embedded-text.ts"

const TASKS: TaskWords = {
  query: "search_query",
  document: "search_document",
  classification: "classification",
  clustering: "clustering",
  similarity: { near: "clustering" },
  question: { near: "search_query" },
  fact: { near: "search_query" },
  "code-query": { near: "search_query" },
}
/** The wire requires a task. */
const DEFAULT_TASK = "search_document"

export const cohereEmbedUpstream: EmbeddingUpstream = {
  fates: {
    dimensions: { fate: "mapped", note: "`output_dimension`" },
    task: { fate: "approximated", note: "`input_type`; `search_document` if none is set, because one is required" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  operationFor: () => ({ operation: "embed", path: "/v2/embed", headers: NO_HEADERS }),
  encodeRequest(batch, { model, losses }) {
    const { dimensions, task } = batch.settings
    reportEmbeddingExtra(batch, { losses, to: "Cohere" })
    return {
      model,
      input_type: taskWord(TASKS, { task, losses }) ?? DEFAULT_TASK,
      texts: textsOf(batch, losses),
      embedding_types: ["float"],
      ...(dimensions !== undefined && { output_dimension: dimensions }),
    }
  },
  decodeResponse,
  decodeError,
}

function decodeResponse(body: JsonObject): EmbeddingResponse | undefined {
  const vectors = floatsIn(body.embeddings)
  if (!vectors) return undefined
  const input =
    readTokenCount(readCountDetails(readCountDetails(body, "meta"), "billed_units"), "input_tokens") ??
    bedrockInputTokens(body)
  return { vectors, ...(input !== undefined && { usage: { input } }) }
}

/** Its older models omit the type's name. */
function floatsIn(embeddings: Json | undefined): readonly EmbeddingVector[] | undefined {
  const floats = isObject(embeddings) ? embeddings.float : embeddings
  return Array.isArray(floats) ? vectorsIn(floats) : undefined
}
