// Vertex's predict, in which its older embedding models are called: one text a call.
import { type EmbeddingResponse, vectorsIn } from "../../../canonical/embedding.ts"
import { isObject, type JsonObject } from "../../../canonical/json.ts"
import type { EmbeddingUpstream } from "../../embedding-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { readCountDetails, readTokenCount } from "../../usage/token-counts.ts"
import { reportEmbeddingExtra, type TaskWords, taskWord, textsOf } from "../embedded-text.ts"

const TASKS: TaskWords = {
  query: "RETRIEVAL_QUERY",
  document: "RETRIEVAL_DOCUMENT",
  similarity: "SEMANTIC_SIMILARITY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
  question: "QUESTION_ANSWERING",
  fact: "FACT_VERIFICATION",
  "code-query": "CODE_RETRIEVAL_QUERY",
}

export const vertexPredictUpstream: EmbeddingUpstream = {
  fates: {
    dimensions: { fate: "mapped", note: "`parameters.outputDimensionality`" },
    task: { fate: "mapped", note: "`instances[].task_type`" },
    title: { fate: "mapped", note: "`instances[].title`" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  operationFor: (model) => ({
    operation: "predict",
    path: `/models/${encodeURIComponent(model)}:predict`,
    headers: NO_HEADERS,
  }),
  encodeRequest(batch, { losses }) {
    const { dimensions, task } = batch.settings
    reportEmbeddingExtra(batch, { losses, to: "Vertex" })
    const task_type = taskWord(TASKS, { task, losses })
    const instances = textsOf(batch, losses).map((content, index) => {
      const title = batch.inputs[index]?.title
      return { content, ...(task_type !== undefined && { task_type }), ...(title !== undefined && { title }) }
    })
    return { instances, ...(dimensions !== undefined && { parameters: { outputDimensionality: dimensions } }) }
  },
  decodeResponse,
  decodeError,
}

function decodeResponse({ predictions }: JsonObject): EmbeddingResponse | undefined {
  if (!Array.isArray(predictions) || !predictions.every(isObject)) return undefined
  const embedded = (predictions as JsonObject[]).map((prediction) => readCountDetails(prediction, "embeddings"))
  const vectors = vectorsIn(embedded.map(({ values }) => values))
  if (!vectors) return undefined
  const counts = embedded.map((each) => readTokenCount(readCountDetails(each, "statistics"), "token_count"))
  const input = counts.reduce<number | undefined>((sum, each) => {
    return sum === undefined || each === undefined ? undefined : sum + each
  }, 0)
  return { vectors, ...(input !== undefined && { usage: { input } }) }
}
