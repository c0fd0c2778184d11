// The simulator speaking OpenAI's moderations: a text that contains the name of a category is flagged for it.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { digest } from "../digest.ts"
import { type SimulatedCall, type SimulatedEndpoint, SimulatedRefusal, type SimulatedReply } from "../simulated-call.ts"
import { countTokens } from "../tokens.ts"
import type { OptionalJson } from "./json-members.ts"
import { missingParameter, openaiErrorFormat, requireModel } from "./openai-error.ts"

export const openaiModerations: SimulatedEndpoint = { errorFormat: () => openaiErrorFormat, answer }

const CATEGORIES = ["harassment", "hate", "illicit", "self-harm", "sexual", "violence"]

function answer({ body }: SimulatedCall): SimulatedReply {
  const model = requireModel(body)
  const texts = readTexts(body.input)
  const inputTokens = texts.reduce((sum, text) => sum + countTokens(text), 0)
  return {
    whole: { id: `modr-${digest(texts.join("\n"), 24)}`, model, results: texts.map(judgeText) },
    charge: { model, inputTokens, outputTokens: 0 },
  }
}

function judgeText(text: string): JsonObject {
  const found = CATEGORIES.map((name) => [name, text.toLowerCase().includes(name)] as const)
  return {
    flagged: found.some(([, isFound]) => isFound),
    categories: Object.fromEntries(found),
    category_scores: Object.fromEntries(found.map(([name, isFound]) => [name, isFound ? 0.95 : 0.00001])),
    category_applied_input_types: Object.fromEntries(found.map(([name]) => [name, ["text"]])),
  }
}

/** A list of strings is judged one by one; a list of parts is one text. */
function readTexts(input: OptionalJson): string[] {
  if (input === undefined || input === null) throw missingParameter("input")
  if (typeof input === "string") return [input]
  if (!Array.isArray(input) || input.length === 0)
    throw new SimulatedRefusal("'input' is not valid.", { param: "input" })
  if (input.every((each) => typeof each === "string")) return input as string[]
  return [input.map(textOf).join("\n")]
}

function textOf(part: Json): string {
  return isObject(part) && typeof part.text === "string" ? part.text : ""
}
