// Token counting in this protocol: the upstream request and the client response.
import type { JsonObject } from "../../../canonical/json.ts"
import type { TokenCountCodec } from "../../chat-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { keepCountedMembers, readTokenNumber } from "../counted-members.ts"

export const COUNT = "input_tokens"
export const COUNT_PATH = "/responses/input_tokens"

const COUNTED = [
  ...["model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "truncation"],
  "parallel_tool_calls",
]

export const counter: TokenCountCodec = {
  errand: () => ({ operation: COUNT, path: COUNT_PATH, headers: NO_HEADERS }),
  encodeCountRequest: (text, model) => keepCountedMembers(text, { model, names: COUNTED }),
  decodeCount: ({ input_tokens }) => readTokenNumber(input_tokens),
}

export function encodeCount(tokens: number): JsonObject {
  return { object: "response.input_tokens", input_tokens: tokens }
}
