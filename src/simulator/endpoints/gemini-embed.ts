// The simulator speaking Google's embedContent, single and in a batch.
import type { JsonObject } from "../../canonical/json.ts"
import { vectorOf } from "../embedding-vector.ts"
import { plainText } from "../prompt-transcript.ts"
import {
  type ExpectedCharge,
  type SimulatedCall,
  type SimulatedEndpoint,
  SimulatedRefusal,
  type SimulatedReply,
  wholeNumber,
} from "../simulated-call.ts"
import { countTokens } from "../tokens.ts"
import { geminiErrorFormat } from "./gemini-error.ts"
import { modelOf } from "./gemini-path.ts"
import { either, object, objects } from "./json-members.ts"

export const geminiEmbed: SimulatedEndpoint = { errorFormat: () => geminiErrorFormat, answer: single }
export const geminiBatchEmbed: SimulatedEndpoint = { errorFormat: () => geminiErrorFormat, answer: batch }

function single({ path, body }: SimulatedCall): SimulatedReply {
  const { values, tokens } = embed(body)
  return { whole: { embedding: { values }, usageMetadata: usageOf(tokens) }, charge: charge(path, tokens) }
}

function batch({ path, body }: SimulatedCall): SimulatedReply {
  const requests = objects(body.requests)
  if (requests.length === 0)
    throw new SimulatedRefusal("* BatchEmbedContentsRequest.requests: requests is not specified\n")
  const embedded = requests.map(embed)
  const tokens = embedded.reduce((total, { tokens }) => total + tokens, 0)
  const embeddings = embedded.map(({ values }) => ({ values }))
  return { whole: { embeddings, usageMetadata: usageOf(tokens) }, charge: charge(path, tokens) }
}

function embed(request: JsonObject): { values: number[]; tokens: number } {
  const content = plainText(object(request.content).parts)
  if (content === "") throw new SimulatedRefusal("* EmbedContentRequest.content: contents is not specified\n")
  const config = object(either(request, "embedContentConfig"))
  const dimensionality = either(request, "outputDimensionality") ?? either(config, "outputDimensionality")
  const dimensions = wholeNumber(dimensionality, { param: "output_dimensionality", from: 1, to: 4096, otherwise: 3072 })
  return { values: [...vectorOf(content, dimensions)], tokens: countTokens(content) }
}

function charge(path: string, inputTokens: number): ExpectedCharge {
  return { model: modelOf(path), inputTokens, outputTokens: 0 }
}

function usageOf(tokenCount: number): JsonObject {
  return { promptTokenCount: tokenCount, promptTokenDetails: [{ modality: "TEXT", tokenCount }] }
}
