// Cohere's own embed interface, second version: at Cohere, and without the model's name at Amazon Bedrock.
import { type EmbeddingResponse, type Vector, vectorsIn } from "../../canonical/embedding.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { reportExtra, type TaskWords, taskWord, textsOf } from "../embedded-text.ts"
import type { EmbeddingUpstream } from "../embedding-codec.ts"
import { NO_HEADERS } from "../extension.ts"
import { invokedInput } from "../invoked-input.ts"
import { decodeError } from "../openai-error.ts"
import { count, detail } from "../token-count.ts"

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
/** It must be told one. */
const UNSAID_TASK = "search_document"

export const upstream: EmbeddingUpstream = {
  fates: {
    dimensions: { fate: "mapped", note: "`output_dimension`" },
    task: { fate: "approximated", note: "`input_type`; without one `search_document`, as one is required" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  errand: () => ({ operation: "embed", path: "/v2/embed", headers: NO_HEADERS }),
  encodeRequest(batch, { model, losses }) {
    const { dimensions, task } = batch.settings
    reportExtra(batch, { losses, to: "Cohere" })
    return {
      model,
      input_type: taskWord(TASKS, { task, losses }) ?? UNSAID_TASK,
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
  const input = count(detail(detail(body, "meta"), "billed_units"), "input_tokens") ?? invokedInput(body)
  return { vectors, ...(input !== undefined && { usage: { input } }) }
}

/** Its older models leave the name of the type out. */
function floatsIn(embeddings: Json | undefined): readonly Vector[] | undefined {
  const floats = isObject(embeddings) ? embeddings.float : embeddings
  return Array.isArray(floats) ? vectorsIn(floats) : undefined
}
