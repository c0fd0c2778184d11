// How tokens are counted in this protocol: what an upstream is asked, and what a client is told.
import type { JsonObject } from "../../canonical/json.ts"
import type { Counter } from "../codec.ts"
import { countedMembers, tokenNumber } from "../count-members.ts"

export const COUNT_PATH = "/v1/messages/count_tokens"

const COUNTED = [
  ...["messages", "model", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"],
  "output_format",
]

export const counter: Omit<Counter, "errand"> = {
  ask: (text, model) => countedMembers(text, { model, names: COUNTED }),
  decodeCount: ({ input_tokens }) => tokenNumber(input_tokens),
}

export function encodeCount(tokens: number): JsonObject {
  return { input_tokens: tokens }
}
