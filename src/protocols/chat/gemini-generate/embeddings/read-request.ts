// Checks an embedContent or batchEmbedContents request and reads the members that the gateway needs.
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { fieldMismatch, runFieldChecks } from "../../../../canonical/schema/field-mismatch.ts"
import type { RequestEnvelope, RequestSummary } from "../../../contract.ts"
import { arrayOf, integer, object, optional, required, string } from "../../../field-checks.ts"
import { readRoutingOptions, summarizeUnaryRequest } from "../../../gateway-extension.ts"
import { readEmbeddingPath } from "../endpoints.ts"
import { eitherSpelling, parts } from "../read-request.ts"

export function readRequest(body: JsonObject, { rest }: RequestEnvelope): RequestSummary {
  const { model, method } = readEmbeddingPath(rest)
  return runFieldChecks(() => {
    const isBatch = method === "batchEmbedContents"
    const inputs = isBatch ? requests(body.requests) : checkEmbedRequest(body)
    const outputLimits = { maxOutputTokens: 0, candidates: 1 }
    const reading = summarizeUnaryRequest({ operation: method, model, routing: readRoutingOptions(body), outputLimits })
    return { ...reading, embeds: { inputs, hasTokens: false, ...(isBatch && { namesModel: true }) } }
  })
}

const content = required("content", (value) => {
  const held = object(value)
  if (parts(held.parts).length === 0) throw fieldMismatch("an object with at least one of `parts`")
})
const taskType = eitherSpelling("taskType", string)
const title = optional("title", string)
const outputDimensionality = eitherSpelling("outputDimensionality", integer({ min: 1 }))
const embedContentConfig = eitherSpelling("embedContentConfig", (value) => checkSettings(object(value)))

function checkSettings(holder: JsonObject): void {
  taskType(holder)
  title(holder.title)
  outputDimensionality(holder)
}

function checkEmbedRequest(request: JsonObject): number {
  content(request.content)
  checkSettings(request)
  embedContentConfig(request)
  return 1
}

const someRequests = arrayOf((value: Json) => checkEmbedRequest(object(value)))
const requests = required("requests", (value) => {
  const { length } = someRequests(value)
  if (length === 0) throw fieldMismatch("an array with at least one item")
  return length
})
