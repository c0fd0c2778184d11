// Members of request bodies with a bound or a list of words, declared once for the validators and the description.
import { integer, number, oneOf } from "../canonical/schema/value-schema.ts"

const tokens = integer({ min: 1 })
const count = integer({ min: 1 })
const share = number({ min: 0, max: 1 })
const penalty = number({ min: -2, max: 2 })

export const samplingMembers = {
  temperature: number({ min: 0, max: 2 }),
  top_p: share,
  frequency_penalty: penalty,
  presence_penalty: penalty,
  n: count,
}
export const chatMembers = {
  ...samplingMembers,
  max_tokens: tokens,
  max_completion_tokens: tokens,
  best_of: count,
}
export const completionsMembers = {
  ...samplingMembers,
  max_tokens: integer({ min: 0 }),
  best_of: count,
  logprobs: integer({ min: 0 }),
}
export const responsesMembers = {
  temperature: samplingMembers.temperature,
  top_p: share,
  max_output_tokens: tokens,
  max_tool_calls: count,
}
export const messagesMembers = {
  max_tokens: tokens,
  temperature: share,
  top_p: share,
  top_k: integer({ min: 0 }),
}
export const generateMembers = {
  temperature: number({ min: 0, max: 2 }),
  topP: share,
  topK: integer({ min: 0 }),
  maxOutputTokens: tokens,
  candidateCount: count,
}
export const embeddingsMembers = {
  dimensions: integer({ min: 1 }),
  encoding_format: oneOf(["float", "base64"]),
}
export const imagesMembers = {
  n: count,
  response_format: oneOf(["url", "b64_json"]),
  output_compression: number({ min: 0, max: 100 }),
}
