// Token counting in this protocol: the upstream request and the client response.
import type { JsonObject } from "../../../canonical/json.ts"
import type { TokenCountCodec } from "../../chat-codec.ts"
import { keepCountedMembers, readTokenNumber } from "../counted-members.ts"

export const COUNT_PATH = "/v1/messages/count_tokens"

const COUNTED = [
  ...["messages", "model", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"],
  "output_format",
]

export const counter: Omit<TokenCountCodec, "errand"> = {
  encodeCountRequest: (text, model) => keepCountedMembers(text, { model, names: COUNTED }),
  decodeCount: ({ input_tokens }) => readTokenNumber(input_tokens),
}

export function encodeCount(tokens: number): JsonObject {
  return { input_tokens: tokens }
}
