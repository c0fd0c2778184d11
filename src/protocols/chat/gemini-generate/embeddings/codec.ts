// Google's embeddings in the embedding lane: for clients, and for upstreams in either of their two forms.
import {
  type EmbeddingBatch,
  type EmbeddingContent,
  type EmbeddingFates,
  type EmbeddingInput,
  type EmbeddingTask,
  floatsOf,
} from "../../../../canonical/embedding.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { Losses } from "../../../../canonical/loss.ts"
import { totalTokens, type Usage } from "../../../../canonical/usage.ts"
import type { EmbeddingIngress, EmbeddingUpstream } from "../../../embedding-codec.ts"
import { reportEmbeddingExtra, type TaskWords, taskWord, textOf } from "../../../embeddings/embedded-text.ts"
import { NO_HEADERS } from "../../../gateway-extension.ts"
import { decodeError } from "../errors.ts"
import { GeminiFieldReader, list, restorePassthrough, text, whole } from "../passthrough-fields.ts"
import { pathOf } from "../read-request.ts"
import { decodeEmbeddings } from "./relay-response.ts"

const WORDS = {
  query: "RETRIEVAL_QUERY",
  document: "RETRIEVAL_DOCUMENT",
  similarity: "SEMANTIC_SIMILARITY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
  question: "QUESTION_ANSWERING",
  fact: "FACT_VERIFICATION",
  "code-query": "CODE_RETRIEVAL_QUERY",
} as const satisfies TaskWords

const TASKS = new Map(Object.entries(WORDS).map(([task, word]) => [word as string, task as EmbeddingTask]))

export const ingress: EmbeddingIngress = {
  decodeRequest(body) {
    if (!Array.isArray(body.requests)) return { inputs: [decodeInput(body)] }
    const members = new GeminiFieldReader(body)
    for (const name of ["requests", ...GATEWAY_MEMBERS]) members.take(name, () => true)
    const extra = members.rest()
    return { inputs: body.requests.filter(isObject).map(decodeInput), ...(extra && { extra }) }
  },
  settingPaths(operation) {
    const at = operation === "batchEmbedContents" ? "requests[]." : ""
    return {
      input: `${at}content`,
      dimensions: `${at}outputDimensionality`,
      task: `${at}taskType`,
      title: `${at}title`,
    }
  },
  encodeResponse({ vectors, usage }, { operation }) {
    const embeddings = vectors.map((vector) => ({ values: floatsOf(vector) }))
    const [embedding = {}] = embeddings
    const isBatch = operation === "batchEmbedContents"
    return { ...(isBatch ? { embeddings } : { embedding }), ...usageMetadata(usage) }
  },
}

function usageMetadata(usage: Usage | undefined): JsonObject {
  return usage ? { usageMetadata: { promptTokenCount: totalTokens(usage) } } : {}
}

/** Members for the gateway. */
const GATEWAY_MEMBERS = ["model", "models", "fallbacks", "provider"]

function decodeInput(request: JsonObject): EmbeddingInput {
  const members = new GeminiFieldReader(request)
  // The path names the model, and the gateway decides which provider serves it.
  for (const name of GATEWAY_MEMBERS) members.take(name, () => true)
  const content = members.take("content", contentOf) ?? { kind: "text", text: "" }
  const settings = { ...members.within("embedContentConfig", settingsOf), ...settingsOf(members) }
  const extra = members.rest()
  return { content, ...settings, ...(extra && { extra }) }
}

function settingsOf(members: GeminiFieldReader): Pick<EmbeddingInput, "title" | "dimensions" | "task"> {
  const title = members.take("title", text)
  const dimensions = members.take("outputDimensionality", whole)
  const task = members.take("taskType", (word) => (typeof word === "string" ? TASKS.get(word) : undefined))
  return {
    ...(title !== undefined && { title }),
    ...(dimensions !== undefined && { dimensions }),
    ...(task && { task }),
  }
}

function contentOf(value: Json): EmbeddingContent | undefined {
  const parts = isObject(value) ? list(value.parts ?? null) : undefined
  const [first, second] = parts ?? []
  const isText = second === undefined && isObject(first) && Object.keys(first).length === 1
  if (isText && typeof first.text === "string") return { kind: "text", text: first.text }
  return parts && { kind: "parts", parts }
}

const fates: EmbeddingFates = {
  dimensions: { fate: "mapped", note: "`outputDimensionality`" },
  task: { fate: "mapped", note: "`taskType`" },
  title: { fate: "mapped", note: "`title`" },
  endUser: { fate: "dropped", note: "there is no such member" },
}

/** In batches, for Google AI Studio. */
export const batchUpstream: EmbeddingUpstream = {
  fates,
  operationFor: (model) => operationOf("batchEmbedContents", model),
  encodeRequest(batch, { model, losses }) {
    reportForeignExtra(batch, losses)
    return {
      requests: batch.inputs.map((input) => ({ model: `models/${model}`, ...encodeInput(input, losses) })),
    }
  },
  decodeResponse: decodeEmbeddings,
  decodeError,
}

/** One by one, for Vertex. */
export const singleUpstream: EmbeddingUpstream = {
  fates,
  operationFor: (model) => operationOf("embedContent", model),
  encodeRequest(batch, { losses }) {
    reportForeignExtra(batch, losses)
    const [input] = batch.inputs
    return input ? encodeInput(input, losses) : {}
  },
  decodeResponse: decodeEmbeddings,
  decodeError,
}

function operationOf(operation: string, model: string) {
  return { operation, path: pathOf(operation, { model, stream: false }), headers: NO_HEADERS }
}

/** An input's passthrough fields are Google's own and return to it. */
function reportForeignExtra({ extra }: EmbeddingBatch, losses: Losses): void {
  reportEmbeddingExtra({ extra, inputs: [] }, { losses, to: "Google" })
}

function encodeInput({ content, title, dimensions, task, extra }: EmbeddingInput, losses: Losses): JsonObject {
  const parts = content.kind === "parts" ? content.parts : [{ text: textOf(content, losses) }]
  const taskType = taskWord(WORDS, { task, losses })
  const written = {
    content: { parts },
    ...(taskType !== undefined && { taskType }),
    ...(title !== undefined && { title }),
    ...(dimensions !== undefined && { outputDimensionality: dimensions }),
  }
  return restorePassthrough(written, extra)
}
