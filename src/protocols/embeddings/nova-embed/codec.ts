// Amazon's Nova embeddings at Bedrock: one text a call, for a purpose.
import { type EmbeddingResponse, vectorIn } from "../../../canonical/embedding.ts"
import { isObject, type JsonObject } from "../../../canonical/json.ts"
import type { EmbeddingUpstream } from "../../embedding-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { bedrockInputTokens } from "../../usage/bedrock-input-tokens.ts"
import { reportEmbeddingExtra, type TaskWords, taskWord, textsOf } from "../embedded-text.ts"

const TASKS: TaskWords = {
  query: "TEXT_RETRIEVAL",
  document: "GENERIC_INDEX",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
  similarity: { near: "CLUSTERING" },
  question: { near: "TEXT_RETRIEVAL" },
  fact: { near: "TEXT_RETRIEVAL" },
  "code-query": { near: "TEXT_RETRIEVAL" },
}
/** The wire requires a task. */
const DEFAULT_TASK = "GENERIC_INDEX"

export const novaEmbedUpstream: EmbeddingUpstream = {
  fates: {
    dimensions: { fate: "mapped", note: "`embeddingDimension`" },
    task: { fate: "approximated", note: "`embeddingPurpose`; `GENERIC_INDEX` if none is set, because one is required" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  operationFor: (model) => ({
    operation: "invoke",
    path: `/model/${encodeURIComponent(model)}/invoke`,
    headers: NO_HEADERS,
  }),
  encodeRequest(batch, { losses }) {
    const { dimensions, task } = batch.settings
    reportEmbeddingExtra(batch, { losses, to: "Nova" })
    const [value = ""] = textsOf(batch, losses)
    const singleEmbeddingParams = {
      embeddingPurpose: taskWord(TASKS, { task, losses }) ?? DEFAULT_TASK,
      text: { value, truncationMode: "NONE" },
      ...(dimensions !== undefined && { embeddingDimension: dimensions }),
    }
    return { taskType: "SINGLE_EMBEDDING", singleEmbeddingParams }
  },
  decodeResponse(body: JsonObject): EmbeddingResponse | undefined {
    const [first] = Array.isArray(body.embeddings) ? body.embeddings : []
    const vector = isObject(first) ? vectorIn(first.embedding) : undefined
    const input = bedrockInputTokens(body)
    if (vector === undefined) return undefined
    return { vectors: [vector], ...(input !== undefined && { usage: { input } }) }
  },
  decodeError,
}
