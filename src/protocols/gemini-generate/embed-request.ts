// Checks an embedContent or batchEmbedContents request and reads the few members the gateway acts on.
import type { Json, JsonObject } from "../../canonical/json.ts"
import { arrayOf, checked, integer, misfit, object, optional, required, string } from "../check.ts"
import type { Envelope, Reading } from "../contract.ts"
import { readWishes, wholeAnswer } from "../extension.ts"
import { readEmbeddingPath } from "./endpoints.ts"
import { parts, spelled } from "./request.ts"

export function readRequest(body: JsonObject, { rest }: Envelope): Reading {
  const { model, method } = readEmbeddingPath(rest)
  return checked(() => {
    const isBatch = method === "batchEmbedContents"
    const inputs = isBatch ? requests(body.requests) : one(body)
    const asks = { maxOutputTokens: 0, candidates: 1 }
    const reading = wholeAnswer({ operation: method, model, routing: readWishes(body), asks })
    return { ...reading, embeds: { inputs, hasTokens: false, ...(isBatch && { namesModel: true }) } }
  })
}

const content = required("content", (value) => {
  const held = object(value)
  if (parts(held.parts).length === 0) throw misfit("an object with at least one of `parts`")
})
const taskType = spelled("taskType", string)
const title = optional("title", string)
const outputDimensionality = spelled("outputDimensionality", integer({ min: 1 }))
const embedContentConfig = spelled("embedContentConfig", (value) => checkSettings(object(value)))

function checkSettings(holder: JsonObject): void {
  taskType(holder)
  title(holder.title)
  outputDimensionality(holder)
}

function one(request: JsonObject): number {
  content(request.content)
  checkSettings(request)
  embedContentConfig(request)
  return 1
}

const someRequests = arrayOf((value: Json) => one(object(value)))
const requests = required("requests", (value) => {
  const { length } = someRequests(value)
  if (length === 0) throw misfit("an array with at least one item")
  return length
})
