// How tokens are counted in this protocol: what an upstream is asked, and what a client is told.
import type { JsonObject } from "../../canonical/json.ts"
import type { Counter } from "../codec.ts"
import { countedMembers, tokenNumber } from "../count-members.ts"
import { NO_HEADERS } from "../extension.ts"

export const COUNT = "input_tokens"
export const COUNT_PATH = "/responses/input_tokens"

const COUNTED = [
  ...["model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "truncation"],
  "parallel_tool_calls",
]

export const counter: Counter = {
  errand: () => ({ operation: COUNT, path: COUNT_PATH, headers: NO_HEADERS }),
  ask: (text, model) => countedMembers(text, { model, names: COUNTED }),
  decodeCount: ({ input_tokens }) => tokenNumber(input_tokens),
}

export function encodeCount(tokens: number): JsonObject {
  return { object: "response.input_tokens", input_tokens: tokens }
}
