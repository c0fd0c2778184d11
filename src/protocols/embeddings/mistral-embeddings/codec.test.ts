import { expect, test } from "bun:test"
import type { Losses } from "../../../canonical/loss.ts"
import { ingress as googleIngress } from "../../chat/gemini-generate/embeddings/codec.ts"
import { OPENAI_EMBEDDINGS } from "../../openai/openai-vectors.ts"
import { mistralEmbeddingsUpstream } from "./codec.ts"

const inputs = [{ content: { kind: "text", text: "a" } }] as const

test("members that Mistral refuses are dropped and reported, and known ones pass", () => {
  const losses: Losses = []
  const members = { priority: 1, metadata: { a: 1 }, output_dtype: "float" }
  const batch = { inputs, settings: {}, extra: { protocol: OPENAI_EMBEDDINGS, members } }
  const body = mistralEmbeddingsUpstream.encodeRequest(batch, { model: "m", losses })
  expect(Object.keys(body).sort()).toEqual(["encoding_format", "input", "metadata", "model", "output_dtype"])
  expect(losses.map(({ path, how }) => [path, how])).toEqual([["priority", "dropped"]])
})

test("members outside the requests of a Google batch are reported as losses", () => {
  const losses: Losses = []
  const envelope = { does: "generate", rest: "m:batchEmbedContents", query: "", headers: {} } as const
  const requests = [{ model: "models/m", content: { parts: [{ text: "a" }] }, autoTruncate: true }]
  const request = googleIngress.decodeRequest({ requests, provider: {}, priority: 1 }, envelope)
  mistralEmbeddingsUpstream.encodeRequest({ ...request, settings: {} }, { model: "m", losses })
  expect(losses.map(({ path }) => path).sort()).toEqual(["autoTruncate", "priority"])
})
