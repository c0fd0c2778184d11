// OpenAI's chat completions protocol.
import type { Protocol } from "../contract.ts"
import { endpoints } from "./endpoints.ts"
import { decodeError, encodeError, errorFrame } from "./errors.ts"
import { encodeModel, encodeModels } from "./models.ts"
import { readRequest, requestEdits } from "./request.ts"
import { relayAnswer } from "./response.ts"
import { heartbeat, relayStream, terminal } from "./stream.ts"

export const openaiChat: Protocol = {
  id: "openai-chat",
  endpoints,
  heartbeat,
  terminal,
  readRequest,
  requestEdits,
  relayAnswer,
  relayStream,
  decodeError,
  encodeError,
  errorFrame,
  encodeModel,
  encodeModels,
}
