// The simulator speaking OpenAI's embeddings.
import type { Json, JsonObject } from "../../canonical/json.ts"
import { vectorOf } from "../embedding-vector.ts"
import {
  type SimulatedCall,
  type SimulatedEndpoint,
  SimulatedRefusal,
  type SimulatedReply,
  wholeNumber,
} from "../simulated-call.ts"
import { countTokens } from "../tokens.ts"
import type { OptionalJson } from "./json-members.ts"
import { missingParameter, openaiErrorFormat, requireModel } from "./openai-error.ts"

export const openaiEmbeddings: SimulatedEndpoint = { errorFormat: () => openaiErrorFormat, answer }

const MAX_INPUTS = 2048
const MAX_DIMENSIONS = 4096

interface EmbeddedInput {
  readonly text: string
  readonly tokens: number
}

function answer({ body }: SimulatedCall): SimulatedReply {
  const model = requireModel(body)
  const inputs = readInputs(body.input)
  const dimensions = wholeNumber(body.dimensions, {
    param: "dimensions",
    from: 1,
    to: MAX_DIMENSIONS,
    otherwise: model.includes("large") ? 3072 : 1536,
  })
  const data = inputs.map(({ text }, index) => {
    return { object: "embedding", index, embedding: encodeVector(vectorOf(text, dimensions), body) }
  })
  const count = inputs.reduce((total, { tokens }) => total + tokens, 0)
  return {
    whole: { object: "list", data, model, usage: { prompt_tokens: count, total_tokens: count } },
    charge: { model, inputTokens: count, outputTokens: 0 },
  }
}

function encodeVector(vector: Float32Array, { encoding_format }: JsonObject): Json {
  return encoding_format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector]
}

/** A text, or a list of token numbers, or a list of either. */
function readInputs(input: OptionalJson): EmbeddedInput[] {
  if (input === undefined || input === null) throw missingParameter("input")
  const several = Array.isArray(input) && !isTokens(input) ? input : [input]
  if (several.length === 0 || several.length > MAX_INPUTS) throw invalidInput()
  return several.map(readInput)
}

function readInput(input: Json): EmbeddedInput {
  if (typeof input === "string" && input !== "") return { text: input, tokens: countTokens(input) }
  if (isTokens(input)) return { text: input.join(" "), tokens: input.length }
  throw invalidInput()
}

function isTokens(input: Json): input is number[] {
  return Array.isArray(input) && input.length > 0 && input.every((token) => typeof token === "number")
}

function invalidInput(): SimulatedRefusal {
  const message = `'$.input' is invalid: expected a text, a list of tokens, or 1 to ${MAX_INPUTS} of either, none of them empty.`
  return new SimulatedRefusal(message, { param: "input", code: "invalid_value" })
}
