// The model names that real providers reported: none is mistaken for a model other than the requested one.
import { expect, test } from "bun:test"
import { bundledModels } from "../../src/catalog/bundled-models.ts"
import { Catalog } from "../../src/catalog/catalog.ts"
import { findOtherModel } from "../../src/catalog/reported-model.ts"
import { type RecordedExchange, recordings, sampleSize } from "./recorded.ts"

const PROVIDERS: Readonly<Record<string, string>> = { gemini: "google" }
const ENDPOINTS = ["chat", "responses", "messages", "generateContent", "streamGenerateContent"]
const catalog = new Catalog(bundledModels())

function findTarget({ provider, request }: RecordedExchange) {
  const [, inPath] = /models\/([^:/]+):/.exec(request?.url ?? "") ?? []
  const name = typeof request?.body?.model === "string" ? request.body.model : inPath
  const host = PROVIDERS[provider] ?? provider
  const model = name === undefined ? undefined : (catalog.servedAs(host, name) ?? catalog.find(name))
  const row = model?.targets.find((target) => target.provider === host)
  return model && row && { model, provider: host, upstreamModel: row.model }
}

function reportedIn({ response: { body } }: RecordedExchange): string | undefined {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  return /"(?:model|modelVersion)": ?"([^"]+)"/.exec(text)?.[1]
}

test("no recorded answer is mistaken for one of another model", () => {
  let compared = 0
  const marked = ENDPOINTS.flatMap(recordings).flatMap((recording) => {
    const target = findTarget(recording)
    const reported = reportedIn(recording)
    // OpenRouter chose the model.
    if (!target || reported === undefined || recording.request?.body?.models) return []
    compared++
    const other = findOtherModel(reported, target, catalog)
    return other ? [`${recording.source}: ${target.upstreamModel} answered as ${reported}, ${other.model.id}`] : []
  })
  expect(compared).toBeGreaterThanOrEqual(sampleSize(200))
  expect(marked).toEqual([])
})
