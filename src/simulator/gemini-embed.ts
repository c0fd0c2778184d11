// The simulator speaking Google's embedContent, single and in a batch.
import type { JsonObject } from "../canonical/json.ts"
import { Refusal, type SimulatedCall, type SimulatedEndpoint, wholeNumber } from "./call.ts"
import { refuseGemini } from "./gemini-error.ts"
import { either, object, objects } from "./json-members.ts"
import { countTokens } from "./tokens.ts"
import { plainText } from "./transcript.ts"
import { vectorOf } from "./vectors.ts"

export const geminiEmbed: SimulatedEndpoint = { answer: single, refuse: refuseGemini }
export const geminiBatchEmbed: SimulatedEndpoint = { answer: batch, refuse: refuseGemini }

function single({ body }: SimulatedCall): Response {
  const { values, tokens } = embed(body)
  return Response.json({ embedding: { values }, usageMetadata: usageOf(tokens) })
}

function batch({ body }: SimulatedCall): Response {
  const requests = objects(body.requests)
  if (requests.length === 0) throw new Refusal("* BatchEmbedContentsRequest.requests: requests is not specified\n")
  const embedded = requests.map(embed)
  const tokens = embedded.reduce((total, { tokens }) => total + tokens, 0)
  return Response.json({ embeddings: embedded.map(({ values }) => ({ values })), usageMetadata: usageOf(tokens) })
}

function embed(request: JsonObject): { values: number[]; tokens: number } {
  const said = plainText(object(request.content).parts)
  if (said === "") throw new Refusal("* EmbedContentRequest.content: contents is not specified\n")
  const config = object(either(request, "embedContentConfig"))
  const asked = either(request, "outputDimensionality") ?? either(config, "outputDimensionality")
  const dimensions = wholeNumber(asked, { param: "output_dimensionality", from: 1, to: 4096, otherwise: 3072 })
  return { values: [...vectorOf(said, dimensions)], tokens: countTokens(said) }
}

function usageOf(tokenCount: number): JsonObject {
  return { promptTokenCount: tokenCount, promptTokenDetails: [{ modality: "TEXT", tokenCount }] }
}
